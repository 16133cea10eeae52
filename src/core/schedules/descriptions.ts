/** What each schedule does and who published it, one sentence each, in the order of the registry. Apart from the kinds, so that a page can tell without carrying their planners. */
export const scheduleAbouts: Readonly<Record<string, string>> = {
  GPipe: 'All micro-batches forward, then all backward (Huang et al. 2019).',
  '1F1B':
    'After a warm-up one micro-batch forward and one backward in turn, so that no more are in flight than there are stages (PipeDream-flush).',
  Interleaved1F1B:
    'One forward and one backward in turn over several chunks a stage, which shortens warm-up and drain at the price of more sends (Megatron-LM, 2021).',
  LoopedBFS:
    'All micro-batches through one chunk before the next, and back in reverse, so that sharded weights are gathered once a chunk (breadth-first, 2022).',
  InterleavedZeroBubble: 'Interleaved 1F1B whose weight gradients wait for idle time, with half the warm-up (Zero Bubble, ZB1P, 2023).',
  ZBVZeroBubble:
    'Two chunks a stage in a V and split backward: no bubble where forward and both backward parts take the same time (Zero Bubble, ZB-V, 2023).',
  DualPipeV:
    'Two chunks a stage in a V, the forward of one overlapped with the backward of the other to hide all-to-all behind computing (DeepSeek, 2025).',
  'ZB-H1': 'As 1F1B, with weight gradients put off to the drain: a third of its bubble in the same memory (Zero Bubble, 2023).',
  'ZB-H2':
    'Twice as many micro-batches ahead as 1F1B: no bubble where forward and both backward parts take the same time (Zero Bubble, 2023).',
  ZeroBubble: 'Planned for the given times under the memory limit, backward split in two (the automatic schedules of Zero Bubble, 2023).',
  ZeroBubbleV:
    'Planned for the given times under the memory limit, two chunks a stage in a V (as Zero Bubble, 2023, and Controllable Memory, 2024).',
  TeraPipe: 'Token slices flow through the pipeline: all forward, then all backward in reverse (Li et al. 2021).',
  Seq1F1B: '1F1B over token slices: one slice forward and one backward in turn, the last slice of a sequence first (Sun et al. 2024).',
};
