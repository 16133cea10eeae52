import type { Runtime } from '../domain/runtime';
import type { ScheduleName } from '../domain/schedule-names';
import { sentence, type Sentence } from '../sentence';

export interface ScheduleDescription {
  /** What it does and who published it, one sentence. */
  readonly text: Sentence;
  /** Runtimes whose launchers run it by a setting of their files. */
  readonly runtimes: readonly Runtime[];
  /** What else runs it, as a noun; null where nothing else does. */
  readonly elsewhere: Sentence | null;
}

/**
 * Of each schedule, in the order of the registry: what it is, and which runtimes run it. In a file of its own, so that a page can show it
 * without the planners of the kinds.
 */
export const scheduleDescriptions: Readonly<Record<ScheduleName, ScheduleDescription>> = {
  GPipe: {
    text: sentence`All micro-batches forward, then all backward (Huang et al. 2019).`,
    runtimes: ['torchtitan', 'nanotron', 'terapipe'],
    elsewhere: null,
  },
  '1F1B': {
    text: sentence`Alternates forward and backward after a warm-up: no more in flight than stages (PipeDream-flush).`,
    runtimes: ['megatron', 'torchtitan', 'fsdp1', 'ddp', 'deepspeed', 'nanotron'],
    elsewhere: null,
  },
  Interleaved1F1B: {
    text: sentence`1F1B over several chunks per stage: a smaller bubble, more P2P transfers (Megatron-LM, 2021).`,
    runtimes: ['megatron', 'torchtitan'],
    elsewhere: null,
  },
  LoopedBFS: {
    text: sentence`Each chunk runs all micro-batches, so sharded weights are gathered once (breadth-first, 2022).`,
    runtimes: ['torchtitan'],
    elsewhere: null,
  },
  InterleavedZeroBubble: {
    text: sentence`Interleaved 1F1B with delayed weight gradients and half the warm-up (Zero Bubble, ZB1P, 2023).`,
    runtimes: ['torchtitan'],
    elsewhere: null,
  },
  ZBVZeroBubble: {
    text: sentence`Two chunks per stage in a V: no bubble if F, B and W take equal time (Zero Bubble, ZB-V, 2023).`,
    runtimes: ['torchtitan'],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  'V-Half': {
    text: sentence`Two chunks per stage in a V: half the activations of 1F1B (Controllable Memory, 2024).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  'V-Min': {
    text: sentence`Two chunks per stage in a V: about a third of the activations of 1F1B (Controllable Memory, 2024).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  DualPipeV: {
    text: sentence`Two chunks per stage in a V; forward and backward overlap to hide the all-to-all (DeepSeek, 2025).`,
    runtimes: ['torchtitan'],
    elsewhere: null,
  },
  'ZB-H1': {
    text: sentence`1F1B with delayed weight gradients: a third of the bubble, the same memory (Zero Bubble, 2023).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  'ZB-H2': {
    text: sentence`Twice the in-flight micro-batches of 1F1B: no bubble if F, B and W take equal time (ZB-H2, 2023).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  ZeroBubble: {
    text: sentence`Planned for the given times and memory limit, with split backward (Zero Bubble, 2023).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM or, from a CSV, TorchTitan`,
  },
  ZeroBubbleV: {
    text: sentence`Planned for the given times and memory limit, two chunks per stage in a V (Zero Bubble, 2023).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM or, from a CSV, TorchTitan`,
  },
  TeraPipe: {
    text: sentence`Token slices flow through the pipeline: all forward, then all backward in reverse (Li et al. 2021).`,
    runtimes: ['terapipe'],
    elsewhere: null,
  },
  Seq1F1B: {
    text: sentence`1F1B over token slices; backward starts with the last slice of a sequence (Sun et al. 2024).`,
    runtimes: [],
    elsewhere: sentence`the runtime of its authors`,
  },
  'Seq1F1B-I': {
    text: sentence`Interleaved 1F1B over token slices (Sun et al. 2024).`,
    runtimes: [],
    elsewhere: sentence`the runtime of its authors`,
  },
  'Seq1F1B-ZB': {
    text: sentence`Seq1F1B with delayed weight gradients (Sun et al. 2024, Zero Bubble, 2023).`,
    runtimes: [],
    elsewhere: sentence`a runtime that splits the backward of token slices`,
  },
  'Seq1F1B-ZB-I': {
    text: sentence`Token slices on several chunks per stage, with delayed weight gradients (MEPipe, 2025).`,
    runtimes: [],
    elsewhere: sentence`a runtime that splits the backward of token slices on virtual stages`,
  },
  SlimPipe: {
    text: sentence`1F1B over equal token slices; stages share attention and the head (SlimPipe, Li et al. 2025).`,
    runtimes: [],
    elsewhere: sentence`a runtime that redistributes attention across stages (no public one does)`,
  },
  'SlimPipe-I': {
    text: sentence`SlimPipe with several chunks per stage: shorter warm-up and drain (Li et al. 2025).`,
    runtimes: [],
    elsewhere: sentence`a runtime that redistributes attention across stages (no public one does)`,
  },
  kFkB: {
    text: sentence`1F1B over groups of k micro-batches: hides slow sends, k times the activations (Ada-Grouper, 2023).`,
    runtimes: [],
    elsewhere: sentence`TorchTitan, from a CSV`,
  },
  BPipe: {
    text: sentence`1F1B whose early stages lend activations to late ones: about half of them are held (ICML 2023).`,
    runtimes: [],
    elsewhere: sentence`a runtime that copies activations between stages (no public one does)`,
  },
  GIS: {
    text: sentence`Interleaved 1F1B in smaller groups: down to half of its activations (PipeOffload, 2025).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  'PO-H': {
    text: sentence`Evenly repeated chunks, half of them on the host: a quarter of the activations (PipeOffload).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  'PO-F': {
    text: sentence`Evenly repeated chunks, all of them on the host: a few layers on the GPU (PipeOffload, 2025).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
};
