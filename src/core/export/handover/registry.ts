import { sliceRuntimes } from '../../formats/slice-runtimes/registry';
import { dpResults } from './dp-results';
import type { Handover } from './handover';
import { scriptFor } from './script';

/** Everything that slices are handed over in: files, and a script for each runtime whose flags cut sequences. */
export const handovers: readonly Handover[] = [dpResults, ...sliceRuntimes.map(scriptFor)];
