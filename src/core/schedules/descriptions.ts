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
    runtimes: ['torchtitan', 'terapipe'],
    elsewhere: null,
  },
  '1F1B': {
    text: sentence`After a warm-up one micro-batch forward and one backward in turn, so that no more are in flight than there are stages (PipeDream-flush).`,
    runtimes: ['megatron', 'torchtitan', 'fsdp1', 'ddp', 'deepspeed'],
    elsewhere: null,
  },
  Interleaved1F1B: {
    text: sentence`One forward and one backward in turn over several chunks a stage, which shortens warm-up and drain at the price of more sends (Megatron-LM, 2021).`,
    runtimes: ['megatron', 'torchtitan'],
    elsewhere: null,
  },
  LoopedBFS: {
    text: sentence`All micro-batches through one chunk before the next, and back in reverse, so that sharded weights are gathered once a chunk (breadth-first, 2022).`,
    runtimes: ['torchtitan'],
    elsewhere: null,
  },
  InterleavedZeroBubble: {
    text: sentence`Interleaved 1F1B whose weight gradients wait for idle time, with half the warm-up (Zero Bubble, ZB1P, 2023).`,
    runtimes: ['torchtitan'],
    elsewhere: null,
  },
  ZBVZeroBubble: {
    text: sentence`Two chunks a stage in a V and split backward: no bubble where forward and both backward parts take the same time (Zero Bubble, ZB-V, 2023).`,
    runtimes: ['torchtitan'],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  'V-Half': {
    text: sentence`Two chunks a stage in a V, down at half the speed of up: about half the activations of 1F1B, and a small bubble (Controllable Memory, 2024).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  'V-Min': {
    text: sentence`Two chunks a stage in a V, down and up without a stop: about a third of the activations of 1F1B (Controllable Memory, 2024).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  DualPipeV: {
    text: sentence`Two chunks a stage in a V, the forward of one overlapped with the backward of the other to hide all-to-all behind computing (DeepSeek, 2025).`,
    runtimes: ['torchtitan'],
    elsewhere: null,
  },
  'ZB-H1': {
    text: sentence`As 1F1B, with weight gradients put off to the drain: a third of its bubble in the same memory (Zero Bubble, 2023).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  'ZB-H2': {
    text: sentence`Twice as many micro-batches ahead as 1F1B: no bubble where forward and both backward parts take the same time (Zero Bubble, 2023).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM`,
  },
  ZeroBubble: {
    text: sentence`Planned for the given times under the memory limit, backward split in two (the automatic schedules of Zero Bubble, 2023).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM or, from a CSV, TorchTitan`,
  },
  ZeroBubbleV: {
    text: sentence`Planned for the given times under the memory limit, two chunks a stage in a V (as Zero Bubble, 2023, and Controllable Memory, 2024).`,
    runtimes: [],
    elsewhere: sentence`sail-sg's zero-bubble Megatron-LM or, from a CSV, TorchTitan`,
  },
  TeraPipe: {
    text: sentence`Token slices flow through the pipeline: all forward, then all backward in reverse (Li et al. 2021).`,
    runtimes: ['terapipe'],
    elsewhere: null,
  },
  Seq1F1B: {
    text: sentence`1F1B over token slices: one slice forward and one backward in turn, the last slice of a sequence first (Sun et al. 2024).`,
    runtimes: [],
    elsewhere: sentence`the runtime of its authors`,
  },
  'Seq1F1B-I': {
    text: sentence`Interleaved 1F1B over token slices: whole sequences, slice by slice, through every chunk of a stage before the next round (Sun et al. 2024).`,
    runtimes: [],
    elsewhere: sentence`the runtime of its authors`,
  },
  'Seq1F1B-ZB': {
    text: sentence`Seq1F1B whose weight gradients wait for idle time (Sun et al. 2024, with Zero Bubble, 2023).`,
    runtimes: [],
    elsewhere: sentence`a runtime that splits the backward of token slices`,
  },
  'Seq1F1B-ZB-I': {
    text: sentence`Token slices on several chunks a stage, whose weight gradients wait for idle time (as MEPipe, 2025).`,
    runtimes: [],
    elsewhere: sentence`a runtime that splits the backward of token slices on virtual stages`,
  },
  SlimPipe: {
    text: sentence`1F1B over equal token slices, whose stages share out the attention of the slices under way, and the head (Li et al. 2025).`,
    runtimes: [],
    elsewhere: sentence`a runtime that moves attention between stages (none is public)`,
  },
  'SlimPipe-I': {
    text: sentence`SlimPipe on several chunks a stage, for a shorter warm-up and drain (Li et al. 2025).`,
    runtimes: [],
    elsewhere: sentence`a runtime that moves attention between stages (none is public)`,
  },
};
