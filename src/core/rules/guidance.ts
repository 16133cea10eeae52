/** What a page of docs/findings.md has in addition to what a finding means and what to do: Markdown. */
export interface Guidance {
  /** What is written, and the text on it; of a rule in the table an example is made of what its test breaks it with. */
  readonly example?: string;
  /** The line of the launcher that stops or does otherwise, or why it is slower or larger. */
  readonly source: string;
  /** When it is right to leave things as they are. */
  readonly ignore: string;
}

const megatron = (file: string, lines: string): string => `Megatron-LM at d98e8a64, \`${file}\`, ${lines}`;
const megatronArguments = (lines: string): string => megatron('megatron/training/arguments.py', lines);
const megatronConfig = (lines: string): string => megatron('megatron/core/transformer/transformer_config.py', lines);
const hybridPattern = (lines: string): string => megatron('megatron/core/models/hybrid/hybrid_layer_allocation.py', lines);
const torchtitan = (file: string, lines: string): string => `TorchTitan at b5bcd76c, \`${file}\`, ${lines}`;
const deepspeed = (file: string, lines: string): string => `DeepSpeed at edaa7221, \`${file}\`, ${lines}`;

const neverStarts =
  'the launcher that you run is an older one or a fork without this check, or what is written here is overridden when it starts.';

/** By code. */
export const guidance: Readonly<Record<string, Guidance>> = {
  'pp-layers-not-divisible': { source: megatronArguments('line 998'), ignore: neverStarts },
  'pp-uneven-middle': { source: megatronConfig('lines 2343 and 2384'), ignore: neverStarts },
  'pipeline-layout': {
    source: megatron('megatron/core/transformer/pipeline_parallel_layer_layout.py', 'lines 41, 95, 98, 103, 107, 112 and 315'),
    ignore: neverStarts,
  },
  'pipeline-layout-mtp': {
    source: '[docs/model/schedules.md](model/schedules.md): a plan has one last stage, which holds all that follows the layers.',
    ignore: 'always: the layout itself is right.',
  },
  'world-size-factor': { source: megatronArguments('line 433'), ignore: 'the number of nodes in the file is not the one that you start.' },
  'heads-tp': {
    source: `${megatronConfig('line 1446')}; ${torchtitan('torchtitan/models/common/decoder.py', 'line 190')}`,
    ignore: neverStarts,
  },
  'kv-heads-tp': {
    source: `${megatronConfig('line 1462')}; ${torchtitan('torchtitan/models/common/decoder.py', 'line 195')}`,
    ignore: 'the tensor size is what makes the model fit, and repeated key/value heads are the price.',
  },
  'width-tensor': {
    source: megatron('megatron/core/utils.py', 'lines 590 and 595: `ensure_divisibility` and `divide`, which every divided layer calls'),
    ignore: neverStarts,
  },
  'tensor-beyond-node': {
    source: 'The links of the GPU that the file names: NVLink ends at the node, except on GB200 and GB300.',
    ignore: 'NVLink joins your nodes; set `cluster.links.nvlinkDomain`.',
  },
  'vpp-layers-lost': { source: megatronArguments('line 973'), ignore: neverStarts },
  'vpp-needs-overlap-or-pp3': { source: megatronArguments('line 1007'), ignore: neverStarts },
  'vpp-microbatch-multiple': {
    source: megatron(
      'megatron/core/pipeline_parallel/schedules.py',
      'lines 1161 and 1173: fewer micro-batches than stages, and a last group smaller than the pipeline, stop the run',
    ),
    ignore: neverStarts,
  },
  'vpp-set-twice': { source: megatronArguments('line 933'), ignore: neverStarts },
  'expert-world-factor': {
    source: megatron('megatron/core/parallel_state.py', 'line 881'),
    ignore: 'the number of nodes in the file is not the one that you start.',
  },
  'experts-not-divisible': {
    source: `${megatronArguments('line 1658')}; ${torchtitan('torchtitan/models/common/decoder.py', 'line 207')}`,
    ignore: neverStarts,
  },
  'experts-active': {
    source: `${megatron('megatron/core/transformer/moe/moe_utils.py', 'lines 726 and 879')}: \`torch.topk\` refuses more than there are, "selected index k out of range".`,
    ignore: 'experts are given somewhere else than in this file.',
  },
  'expert-dense-model': { source: megatronArguments('line 1656'), ignore: 'the experts are given somewhere else than in this file.' },
  'hidden-heads': {
    source: megatronConfig('line 1456, which rounds the size of a head down; the attention of transformers asserts the multiple'),
    ignore: 'the size of a head is given somewhere else than in this file.',
  },
  'kv-heads-heads': {
    source: `The attention of transformers repeats each key/value head \`num_attention_heads // num_key_value_heads\` times, and so does ${megatron('megatron/core/transformer/dot_product_attention.py', 'lines 169 to 174')}: the shapes do not meet otherwise.`,
    ignore: neverStarts,
  },
  'sequence-positions': {
    source: megatronArguments('lines 1354 and 1358'),
    ignore: 'rotary positions are scaled (YaRN, NTK) by a setting that is not in this file.',
  },
  'precision-twice': { source: megatronArguments('lines 1196 and 1205'), ignore: 'one of the two is taken back on the command line.' },
  'vocab-padding': {
    source: megatron('megatron/core/tokenizers/utils/build_tokenizer.py', 'line 142'),
    ignore: 'always: it only explains why checkpoints have more rows than the tokenizer.',
  },
  'hybrid-letters': { source: hybridPattern('lines 291 and 319'), ignore: 'a fork has kinds of layers of its own.' },
  'hybrid-layers': {
    source:
      'Megatron-LM before core 0.16 refuses it; since then `megatron/training/arguments.py`, line 787 (d98e8a64), warns and takes the pattern.',
    ignore: 'your Megatron-LM is newer and the pattern is the one that you mean.',
  },
  'hybrid-ratios': { source: megatron('megatron/core/models/hybrid/hybrid_model.py', 'line 173'), ignore: neverStarts },
  'hybrid-stages': { source: hybridPattern('line 460'), ignore: neverStarts },
  'hybrid-virtual-stages': { source: hybridPattern('line 387'), ignore: neverStarts },
  'state-tp': {
    source: megatron('megatron/core/ssm/mamba_mixer.py', 'lines 262 and 270'),
    ignore: neverStarts,
  },
  'gbs-not-divisible': {
    source: megatron('megatron/core/num_microbatches_calculator.py', 'lines 382 and 584'),
    ignore: 'the number of nodes in the file is not the one that you start.',
  },
  'step-batch-schedule-with-global-batch': { source: megatronArguments('line 700'), ignore: neverStarts },
  'cp-seq-multiple': {
    source: `${megatronArguments('line 1337')}; ${torchtitan('torchtitan/distributed/parallel_dims.py', 'line 668')}`,
    ignore: 'sequences are padded by your own code before they are cut.',
  },
  'cp-heads': {
    source: megatron('megatron/core/extensions/transformer_engine.py', 'line 2114, and the all-to-all of TransformerEngine that it calls'),
    ignore: neverStarts,
  },
  'sp-tp-seq': {
    source: `${megatron('megatron/core/tensor_parallel/mappings.py', 'lines 74 and 178')}; ${torchtitan('torchtitan/distributed/parallel_dims.py', 'line 665')}`,
    ignore: 'sequences are padded by your own code before they are cut.',
  },
  'sp-no-effect': {
    source: megatronArguments('line 1436'),
    ignore: 'one script starts runs of several tensor sizes, and the setting waits for the larger ones.',
  },
  'variable-seq-pp': {
    source: megatron(
      'megatron/core/pipeline_parallel/p2p_communication.py',
      'line 327: with variable lengths stages exchange shapes first',
    ),
    ignore: 'your Megatron-LM exchanges shapes, as core does.',
  },
  'microbatches-below-stages': {
    source: 'PyTorch, `torch/distributed/pipelining/schedules.py`, the warning quoted above; elsewhere the idle time itself.',
    ignore: 'the batch is set by how the model learns, or the run only tries out whether it starts.',
  },
  'long-seq-chunk-candidate': {
    source: '[TeraPipe](https://arxiv.org/abs/2102.07988) and [Seq1F1B](https://arxiv.org/abs/2406.03488).',
    ignore: 'your launcher cannot cut sequences: most cannot.',
  },
  'slices-not-cut': {
    source:
      'thunlp/Seq1F1B at 68934661, `megatron/core/pipeline_parallel/sp_utils.py`, line 123; sail-sg/zero-bubble-pipeline-parallelism at 39f2c186, `megatron/training/arguments.py`, line 422',
    ignore: neverStarts,
  },
  'slices-slower': {
    example: '`--pipe-sp-splits 2 --pipe-sp-strategy average` of a long sequence, where 8 slices take less time.',
    source: '[docs/slices-in-runtimes.md](slices-in-runtimes.md): each split is predicted as the runtime will run it.',
    ignore: 'you measured both, or the number of slices is what makes the step fit another GPU.',
  },
  'slices-runtime': {
    source: "MindSpeed-LLM's page on Seq1F1B and `get_span_info`; hcu-megatron's page on pipelines",
    ignore: neverStarts,
  },
  'slices-flags': {
    source:
      'thunlp/Seq1F1B at 68934661, `megatron/model/transformer.py`, line 855; sail-sg/zero-bubble-pipeline-parallelism at 39f2c186, `megatron/training/arguments.py`, lines 418 to 421',
    ignore: 'the flags are given somewhere else than in this file.',
  },
  'recompute-granularity': { source: megatronArguments('line 1427'), ignore: neverStarts },
  'selective-recompute-flash': {
    source:
      '[Reducing Activation Recomputation in Large Transformer Models](https://arxiv.org/abs/2205.05198), section 5: what is recomputed is what flash attention never stores.',
    ignore: 'modules to recompute are given somewhere else than in this file.',
  },
  'offload-with-pp': { source: megatronConfig('line 1893'), ignore: neverStarts },
  'offload-with-recompute': { source: megatronConfig('line 1898'), ignore: neverStarts },
  'offload-layers': { source: megatronConfig('line 1888'), ignore: neverStarts },
  'pp-end-stage-memory': {
    source: megatron(
      'megatron/core/models/gpt/gpt_model.py',
      '`pre_process` and `post_process`: the first stage builds the embedding, the last one the head',
    ),
    ignore: 'the run fits: the fullest stage decides that, and uneven ones only waste what the others have left.',
  },
  'estimate-ignores-ep-cp': {
    source: megatron('megatron/training/theoretical_memory_usage.py', '`report_theoretical_memory`'),
    ignore: 'you do not read that report.',
  },
  'zero-with-pp': { source: deepspeed('deepspeed/runtime/pipe/engine.py', 'line 77'), ignore: neverStarts },
  'zero-with-tp': { source: deepspeed('deepspeed/runtime/engine.py', '`_configure_tensor_parallel`'), ignore: neverStarts },
  'zero-with-experts': {
    source: `${deepspeed('deepspeed/runtime/engine.py', 'line 1890')}; GPT-NeoX at ea7aefd8, \`megatron/neox_arguments/arguments.py\`, line 1089`,
    ignore: neverStarts,
  },
  'tied-with-pp': { source: torchtitan('torchtitan/models/common/decoder.py', 'line 168'), ignore: neverStarts },
  'ds-batch-triangle': {
    source: deepspeed('deepspeed/runtime/config.py', 'line 938'),
    ignore: 'the number of replicas in the file is not the one that you start.',
  },
  'ds-pipeline-empty-stage': {
    source: deepspeed('deepspeed/runtime/utils.py', '`partition_balanced` (line 627), which newer versions fixed'),
    ignore: 'your DeepSpeed is 0.12 or newer.',
  },
  'tt-virtual-stages': { source: torchtitan('torchtitan/distributed/pipeline_parallel.py', 'line 235'), ignore: neverStarts },
  'tt-single-stage-schedule': { source: torchtitan('torchtitan/distributed/pipeline_parallel.py', 'line 246'), ignore: neverStarts },
  'schedule-virtual-stages': {
    source: '[docs/model/schedules.md](model/schedules.md): what each schedule is.',
    ignore: 'never: the plan is of another schedule then.',
  },
  'scheme-mismatch': {
    source: '[docs/model/time.md](model/time.md): a scheme covers every token once.',
    ignore: 'never: the plan is of another batch then.',
  },
  'sequence-unit': {
    source: '[docs/model/time.md](model/time.md): slices are cut at multiples of the unit.',
    ignore: 'one shorter slice costs nothing that you notice.',
  },
  'precision-slow': {
    source: "The rates of the GPU's data sheet, in `src/core/cluster/gpus`.",
    ignore: 'the model diverges in fp16 and the time does not matter.',
  },
  'gpu-number-format': {
    example:
      '`"gemmPrecision": "fp8", "fp8Recipe": "mxfp8"` on H100. "MXFP8 does not run on H100-80GB, whose compute capability is 9.0: "Device compute capability 10.0 or higher required for MXFP8 execution.""',
    source: `Transformer Engine at d0067d0d, \`transformer_engine/pytorch/quantization.py\`, lines 154, 162, 168, 175 and 184, asserted in lines 760 to 769; ${torchtitan('torchtitan/components/quantization', '`float8.py` line 92, `mx.py` line 71, `nvfp4.py` line 292')}`,
    ignore: 'the run is started on other GPUs than the files name.',
  },
  'unknown-key': {
    example: '`"trainning": {}` in a terapipe.json. ""trainning" is not a key of the config and is ignored"',
    source: 'The reader of `terapipe.json`: [docs/configuration.md](configuration.md) lists its keys.',
    ignore: 'the key is for a program of your own.',
  },
  'renamed-key': {
    example: 'a terapipe.json with the keys of an earlier version. "Keys have new names, and the old ones still work: ..."',
    source: '[docs/configuration.md](configuration.md).',
    ignore: 'an older TeraPipe reads the same file.',
  },
  'cost-table-split': {
    example:
      '`cost.table` with times of both passes in one number. "These times hold forward and backward together; a third is taken as forward"',
    source: '[docs/model/time.md](model/time.md).',
    ignore: 'a third is what you measured.',
  },
  'two-files-disagree': {
    example:
      '`--hidden-size 1026` and a config.json with `"hidden_size": 768`. "1,026 here, 768 in config.json (hidden_size): the hidden size of one run"',
    source: 'Megatron-LM, `load_checkpoint`, and the converters from Hugging Face compare or copy these sizes.',
    ignore: 'the model config next to the launcher is that of another model.',
  },
  'tt-schedule-csv': {
    example: '`pipeline_parallel_schedule_csv = "schedule.csv"` without that file. "The schedule "schedule.csv" does not exist"',
    source: 'PyTorch, `torch/distributed/pipelining/schedules.py`, `_load_csv`, `_validate_schedule` and `_simulate_comms_compute`.',
    ignore: 'the file is for another format than TorchTitan loads.',
  },
  'memory-over-capacity': {
    example: 'GPT-3 175B with `layout.pipeline` 8 on 8 A100-40GB: its weights and optimizer states already take more than a GPU has.',
    source: '[docs/model/memory.md](model/memory.md): how the bytes of a stage are counted.',
    ignore: 'the run is known to fit: `terapipe profile` and `--measured` correct the prediction.',
  },
  'layout-slower': {
    example:
      'a tensor size of 16 on nodes of 8 GPUs, whose all-reduces cross the network, where a tensor size of 8 with more stages is faster.',
    source: '[docs/accuracy.md](accuracy.md): how far predictions are off.',
    ignore: 'something outside the files fixes the layout, such as checkpoints.',
  },
  'base-not-found': {
    example: '`extends: llama3_base.yaml`, opened without that file. ""llama3_base.yaml" is not here, so what it sets is not known"',
    source: 'Primus `primus/core/config/preset_loader.py`; Hydra and NeMo-RL read the files of a `defaults` list; each stops without them.',
    ignore: 'the file lies in the installed package of the launcher.',
  },
  'flag-unknown': {
    example: '`--tensor-model-paralel-size 8`. The quick fix writes the flag as Megatron-LM names it.',
    source: `${megatronArguments('lines 120 and 132')}: \`allow_abbrev=False\`, and \`parse_args\``,
    ignore: 'your fork has the flag.',
  },
  'optimizer-unknown': {
    example:
      '`optimizer: my_optimizer` in an Axolotl YAML. "The optimizer "my_optimizer" is not known: its memory and time are planned as those of Adam"',
    source: 'The table of optimizers in `src/core/domain/optimizer.ts`, with its sources.',
    ignore: 'it keeps two moments in fp32, as Adam does.',
  },
  'flag-left-out': {
    example: '`--swap-optimizer` in a script of MindSpeed-LLM. "--swap-optimizer is left out of the plan: optimizer state on the host"',
    source: 'The arguments of Megatron-LM at d98e8a64 and of MindSpeed at 028de58c.',
    ignore: 'you know what the flag gives in your run.',
  },
  'shell-not-followed': {
    example:
      '`torchrun pretrain_gpt.py $EXTRA_ARGS` where nothing sets the variable. "Nothing here sets $EXTRA_ARGS: flags that it adds are left out"',
    source: 'The script itself.',
    ignore: 'what is left out sets nothing that a plan needs: paths, logging, data.',
  },
  'config-of-module': {
    example: 'a `config_registry.py` of TorchTitan with three functions. "Planned is "llama3_8b", one of 3 configs of this module"',
    source: 'TorchTitan and Megatron-Bridge are started with the name of one config of a module (`--config`, `--recipe`).',
    ignore: 'that one is meant.',
  },
  'policy-alone': {
    example: 'a GRPO config of NeMo-RL. "Only the policy update is planned, without generation, log-probabilities and other models"',
    source: 'NeMo-RL, `nemo_rl/algorithms`: a step generates, computes log-probabilities and trains.',
    ignore: 'you plan only the training step.',
  },
  'repeated-key': {
    example:
      '`--ffn-hidden-size: 4096` and, below, `--ffn-hidden-size: 8192`. ""--ffn-hidden-size" appears again below, and the launcher takes the last one"',
    source: 'PyYAML, `construct_mapping`: later keys replace earlier ones.',
    ignore: 'both have the same value.',
  },
  'more-informations': {
    example:
      'a script with seven flags whose values are known only at run time. "2 more informations: flag-unknown-value (2); --all prints them"',
    source: 'The editor and `terapipe check`.',
    ignore: 'always.',
  },
};
