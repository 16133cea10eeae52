import type { ScheduleName } from '../spec/schedule-names';
import { sentence, type Sentence } from '../sentence';

export interface ScheduleDescription {
  /** What it does and who published it, one sentence. */
  readonly text: Sentence;
  /** What runs it, where neither TeraPipe's runtime nor the usual launchers do; null where one of these does. */
  readonly needs: Sentence | null;
}

/** Of each schedule, in the order of the registry. Apart from the kinds, so that a page can show it without carrying their planners. */
export const scheduleDescriptions: Readonly<Record<ScheduleName, ScheduleDescription>> = {
  GPipe: {
    text: sentence`All micro-batches forward, then all backward (Huang et al. 2019).`,
    needs: null,
  },
  '1F1B': {
    text: sentence`After a warm-up one micro-batch forward and one backward in turn, so that no more are in flight than there are stages (PipeDream-flush).`,
    needs: null,
  },
  Interleaved1F1B: {
    text: sentence`One forward and one backward in turn over several chunks a stage, which shortens warm-up and drain at the price of more sends (Megatron-LM, 2021).`,
    needs: sentence`several virtual stages on each stage, as layout.virtualStages and Megatron-LM have them`,
  },
  LoopedBFS: {
    text: sentence`All micro-batches through one chunk before the next, and back in reverse, so that sharded weights are gathered once a chunk (breadth-first, 2022).`,
    needs: sentence`a runtime of breadth-first pipelines, such as PyTorch's`,
  },
  InterleavedZeroBubble: {
    text: sentence`Interleaved 1F1B whose weight gradients wait for idle time, with half the warm-up (Zero Bubble, ZB1P, 2023).`,
    needs: sentence`a runtime that splits backward, such as TorchTitan's`,
  },
  ZBVZeroBubble: {
    text: sentence`Two chunks a stage in a V and split backward: no bubble where forward and both backward parts take the same time (Zero Bubble, ZB-V, 2023).`,
    needs: sentence`a runtime that splits backward, such as TorchTitan's`,
  },
  'V-Half': {
    text: sentence`Two chunks a stage in a V, down at half the speed of up: about half the activations of 1F1B, and a small bubble (Controllable Memory, 2024).`,
    needs: sentence`a runtime that splits backward, such as sail-sg's zero-bubble Megatron-LM`,
  },
  'V-Min': {
    text: sentence`Two chunks a stage in a V, down and up without a stop: about a third of the activations of 1F1B (Controllable Memory, 2024).`,
    needs: sentence`a runtime that splits backward, such as sail-sg's zero-bubble Megatron-LM`,
  },
  DualPipeV: {
    text: sentence`Two chunks a stage in a V, the forward of one overlapped with the backward of the other to hide all-to-all behind computing (DeepSeek, 2025).`,
    needs: sentence`a runtime that splits backward and overlaps it with forward, such as TorchTitan's`,
  },
  'ZB-H1': {
    text: sentence`As 1F1B, with weight gradients put off to the drain: a third of its bubble in the same memory (Zero Bubble, 2023).`,
    needs: sentence`a runtime that splits backward, such as sail-sg's zero-bubble Megatron-LM`,
  },
  'ZB-H2': {
    text: sentence`Twice as many micro-batches ahead as 1F1B: no bubble where forward and both backward parts take the same time (Zero Bubble, 2023).`,
    needs: sentence`a runtime that splits backward, such as sail-sg's zero-bubble Megatron-LM`,
  },
  ZeroBubble: {
    text: sentence`Planned for the given times under the memory limit, backward split in two (the automatic schedules of Zero Bubble, 2023).`,
    needs: sentence`a runtime that splits backward and runs orders from a file, such as TorchTitan's`,
  },
  ZeroBubbleV: {
    text: sentence`Planned for the given times under the memory limit, two chunks a stage in a V (as Zero Bubble, 2023, and Controllable Memory, 2024).`,
    needs: sentence`a runtime that splits backward and runs orders from a file, such as TorchTitan's`,
  },
  TeraPipe: {
    text: sentence`Token slices flow through the pipeline: all forward, then all backward in reverse (Li et al. 2021).`,
    needs: null,
  },
  Seq1F1B: {
    text: sentence`1F1B over token slices: one slice forward and one backward in turn, the last slice of a sequence first (Sun et al. 2024).`,
    needs: sentence`a runtime that runs token slices in the order of 1F1B, such as the one of its authors`,
  },
  'Seq1F1B-I': {
    text: sentence`Interleaved 1F1B over token slices: whole sequences, slice by slice, through every chunk of a stage before the next round (Sun et al. 2024).`,
    needs: sentence`a runtime that runs token slices on virtual stages, such as the one of its authors`,
  },
  'Seq1F1B-ZB': {
    text: sentence`Seq1F1B whose weight gradients wait for idle time (Sun et al. 2024, with Zero Bubble, 2023).`,
    needs: sentence`a runtime that splits the backward of token slices`,
  },
  'Seq1F1B-ZB-I': {
    text: sentence`Token slices on several chunks a stage, whose weight gradients wait for idle time (as MEPipe, 2025).`,
    needs: sentence`a runtime that splits the backward of token slices on virtual stages`,
  },
  SlimPipe: {
    text: sentence`1F1B over equal token slices, whose stages share out the attention of the slices under way, and the head (Li et al. 2025).`,
    needs: sentence`a runtime that moves attention between stages, which none that is public does`,
  },
  'SlimPipe-I': {
    text: sentence`SlimPipe on several chunks a stage, for a shorter warm-up and drain (Li et al. 2025).`,
    needs: sentence`a runtime that moves attention between stages, which none that is public does`,
  },
};
