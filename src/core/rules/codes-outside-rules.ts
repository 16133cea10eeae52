/** A code of findings, as its page in docs/findings.md describes it. */
export interface Documented {
  readonly code: string;
  /** A former code: what switches that off switches this off too. */
  readonly alias?: string;
  readonly doc: string;
}

/**
 * Findings of others than rules: what readers notice, what two files say of one run, what a plan needs, what a search finds. Each with its
 * page in docs/findings.md.
 */
export const codesOutsideRules: readonly Documented[] = [
  {
    code: 'unknown-key',
    doc: 'A key that the file may not have, close to one it may. It is ignored, so a default was taken for what it means. Rename or remove it; the quick fix does.',
  },
  {
    code: 'renamed-key',
    doc: 'Keys of a terapipe.json that have a new name since: `training.contextExchange` is `contextParallelComm`, `overlapGradients` is `overlapGradReduce`, `overlapParameters` is `overlapParamGather`, `offloadLayers` is `activationOffloadLayers`, `fp32Gradients` is `gradAccumulationFp32`; `layout.stageGroups` is `stageNodeGroups`; `cluster.links.nodeBusGBps` is `intraNodeBusGBps`. The old names still work, in files and with `--set`; a file that gives both is an error. One information for each file; the quick fix renames them all.',
  },
  {
    code: 'cost-table-split',
    doc: "`cost.table.ms` holds forward and backward together. A third is taken as forward, since a backward runs two GEMMs for each of the forward's. Give `forwardMs` and `backwardMs` when both were measured.",
  },
  {
    code: 'two-files-disagree',
    doc: 'The launcher and the model config of one run give different sizes. The checkpoint will not convert or load. Vocabularies may differ by padding.',
  },
  {
    code: 'tt-schedule-csv',
    doc: 'The schedule that `pipeline_parallel_schedule_csv` names has a row for each pipeline rank and an action in each cell: a stage, one of F, B, I and W, and a micro-batch (`2F0`). TorchTitan loads it as `compute_only`, so sends and receives are left out, onto stages that are assigned to ranks in turn (stage 5 of 4 ranks on rank 1). The check is stricter than PyTorch, which runs `0F0xyz` as `0F0`. The finding is at each cell that is not an action, runs twice, lacks its backward, is on another rank than its stage, comes before what it needs or waits for a rank that waits for it.',
  },
  {
    code: 'memory-over-capacity',
    alias: 'layout-too-large',
    doc: 'The planned step needs more memory on some stage than is usable of its GPU: its memory less what is kept free for the CUDA context, NCCL buffers and fragmentation. It is a warning, "may not fit", where it only needs some of what is kept free for fragmentation, of which a run may need less. Once the plan is shown, changes that may help are planned (at most five): another schedule that fits and that the runtime runs; sequence parallelism, flash attention, a sharded optimizer, a smaller micro-batch, recompute, more stages. Up to three that fit are quick fixes, each with its cost in time (`Recompute all layers: fits, +31 %`); layouts that fit can be searched too. Where no file names the GPU, it is a warning: the step is too large for the GPU that is assumed.',
  },
  {
    code: 'gpu-number-format',
    doc: 'The layers are multiplied in a number format that the GPU does not compute: FP8 needs a compute capability of 8.9 (Ada, Hopper), FP8 scaled by blocks 9.0, MXFP8 and NVFP4 10.0 (Blackwell). An error where the runtime stops, a warning where it may emulate the format or no file names the runtime; information only where no file names the GPU. GPUs without a preset and those of AMD are not judged.',
  },
  {
    code: 'slices-slower',
    doc: 'The flags of a runtime of token slices cut sequences into slices that take longer than others would. The message shows the time of the best split that the same flags can give; the remedy also the time of solved slices, which most runtimes take in their source ([docs/slices-in-runtimes.md](slices-in-runtimes.md)). The quick fix changes the flags.',
  },
  {
    code: 'layout-slower',
    doc: 'The layout that the files fix is slower than the best that a search finds for the same model, GPUs and batch, by more than the error of the prediction. It is at the value that costs most. The quick fix shows the best layout as a change of the file and writes nothing before you accept it. Only in the editor; in a terminal, `terapipe plan --search --free all` shows the same.',
  },
  {
    code: 'more-informations',
    doc: 'The editor and the terminal show five informations on a file, one of each code before a second of any; this line counts the others by code. `terapipe check --all` and `--json` print them all.',
  },
  {
    code: 'base-not-found',
    doc: 'The config builds on another file (`extends`, `defaults`, a preset of its launcher) that is not where it should lie, so what that one sets is not known: often the sizes of the model. Open the folder or the clone that holds both.',
  },
  {
    code: 'flag-unknown',
    doc: "A flag of the program that is in none of the tables of Megatron-LM and its forks, and whose name touches model, parallelism, batch or memory. The plan leaves it out and its error bar is at least 35 %. Where a known flag is spelt almost the same it is a warning: Megatron's argument parser takes no abbreviations and stops at what it does not know. The quick fix renames it.",
  },
  {
    code: 'optimizer-unknown',
    doc: 'The file names an optimizer that is not in the table of optimizers, so its states are not known. Memory and the time of its step are planned as those of Adam: 8 bytes of states a parameter. Give what it keeps as `training.optimizerStateBytes` (and `training.masterWeightBytes`) in a terapipe.json.',
  },
  {
    code: 'flag-left-out',
    doc: 'A flag of a script, known to Megatron-LM or a fork of it, that changes time or memory and that is not planned yet, such as `--moe-fb-overlap`. The plan leaves it out, and its error bar is at least 35 %.',
  },
  {
    code: 'shell-not-followed',
    doc: 'A script is read and never run. A sourced file that is not here, a list of flags that nobody sets (`$@`, `$EXTRA_ARGS`), a command line nested too deep: what they add is left out. It is reported only where the launch needs a value that nobody sets. Files next to the script and in the folders above it are followed, and so are `eval`, `bash -c` and scripts that a here-document writes.',
  },
  {
    code: 'config-of-module',
    doc: 'A module in Python defines several configs, and one run is planned at a time: the first, or the one that a comment `# terapipe-config: NAME` names. The quick fixes write that comment.',
  },
  {
    code: 'policy-alone',
    doc: 'A config of reinforcement learning or fine-tuning (NeMo-RL, verl). Planned is a training step of the policy on the GPUs that train; generation, log-probabilities, reference, reward and teacher models take time and memory of their own.',
  },
  {
    code: 'repeated-key',
    doc: 'A key occurs twice in one mapping, and the loader of this launcher (PyYAML) silently takes the last one. Where a loader refuses that (OmegaConf, TOML, DeepSpeed), it is the error `config-duplicate-key`.',
  },
];
