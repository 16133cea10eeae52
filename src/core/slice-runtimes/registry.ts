import { chunkedPipeline } from './chunked-pipeline';
import { hcu } from './hcu';
import { mindspeed } from './mindspeed';
import { seq1f1b } from './seq1f1b';
import { seq1f1bCore } from './seq1f1b-core';
import { seq1f1bManual } from './seq1f1b-manual';
import type { SliceRuntime } from './slice-runtime';
import { zeroBubble } from './zero-bubble';

/** What runs token slices in the Megatron-LM family. Where runtimes share a flag, the one that also needs another flag is first. */
export const sliceRuntimes: readonly SliceRuntime[] = [hcu, seq1f1bManual, seq1f1b, mindspeed, seq1f1bCore, zeroBubble, chunkedPipeline];

/** @returns undefined for an id that is none. */
export function findSliceRuntime(id: string): SliceRuntime | undefined {
  return sliceRuntimes.find((runtime) => runtime.id === id);
}
