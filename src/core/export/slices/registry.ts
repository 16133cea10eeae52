import { sliceRuntimes } from '../../slice-runtimes/registry';
import { dpResults } from './dp-results';
import type { SliceExport } from './slice-export';
import { scriptFor } from './script';

/** Everything that slices are written as: files, and a script for each runtime whose flags cut sequences. */
export const sliceExports: readonly SliceExport[] = [dpResults, ...sliceRuntimes.map(scriptFor)];
