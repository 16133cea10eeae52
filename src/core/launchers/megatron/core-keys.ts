import { vocabOfName, vocabOfType } from '../tables/tokenizers';
import { choice, count, fixed, keep, on, positiveNumber, share, type FlagRead } from '../../languages/reads';
import { detailKeys } from './detail-keys';
import { optimizerKeys } from '../tables/optimizer-facts';
import { row, lenient, type FlagTable, type Table } from '../tables/table';
import { anyOf, layerPattern, layoutPattern, windowSize, words, phrase } from '../tables/reads';

/** Kinds of positions by Megatron-LM's names of them. */
export const positionKinds = { learned_absolute: 'learned', rope: 'rotary', mrope: 'rotary', yarn: 'rotary', none: 'none' } as const;
const norms = {
  layernorm: 'layernorm',
  layernorm1p: 'layernorm',
  low_precision_layernorm: 'layernorm',
  rmsnorm: 'rmsnorm',
} as const;
export const backends = { flash: 'flash', fused: 'flash', unfused: 'unfused', local: 'unfused', auto: null } as const;
/** FlashAttention 2: version 3 exists only where it was built (`dpa_utils/utils.py` of Transformer Engine). */
export const backendKernels = { flash: 'flash2', fused: 'cudnn', unfused: null, local: null, auto: null } as const;
/** `custom` is a function of the user's own. */
export const fp8RecipeWords = {
  delayed: 'delayed',
  tensorwise: 'tensorwise',
  mxfp8: 'mxfp8',
  blockwise: 'blockwise',
  custom: null,
} as const;
export const fp8FormatWords = { e4m3: 'e4m3', hybrid: 'hybrid' } as const;
/** What `cuda_graph_impl` records; `flex` leaves the dispatcher to its backend. */
export const graphScopes = { local: 'layers', transformer_engine: 'layers', full_iteration: 'iteration', none: null } as const;
export const flexDispatchers = { deepep: 'deepep', hybridep: 'hybridep' } as const;
export const tokenDispatchers = { alltoall: 'alltoall', allgather: null, flex: null, alltoall_seq: null } as const;
/** `attnbackend.flash` is how Megatron-Bridge writes the enumeration out. */
const ofBackend = <const T extends string>(meanings: Readonly<Record<string, T | null>>): FlagRead<T> =>
  lenient({ words: 'one', of: ([written = '']) => choice(meanings).of([written.replace(/^attnbackend\./i, '')]) });

/** What gates the feed-forward, by the names of NeMo and Megatron. */
export const gated = anyOf((written) =>
  /^(fast-)?(swiglu|geglu|reglu|quick-geglu)$/i.test(written) ? true : /^[a-z][\w-]*$/i.test(written) ? false : undefined,
);

/**
 * Settings that Megatron-LM takes as flags of the same name (with dashes) and Megatron Core as fields of its `TransformerConfig` and
 * `ModelParallelConfig`.
 */
export const sharedSettings = {
  layers: [row('num_layers', count(1))],
  hidden: [row('hidden_size', count(1))],
  heads: [row('num_attention_heads', count(1))],
  kvHeads: [row('num_query_groups', count(1))],
  headDim: [row('kv_channels', count(1))],
  ffn: [row('ffn_hidden_size', count(1))],
  vocabDivisor: [row('make_vocab_size_divisible_by', count(1))],
  maxPositions: [row('max_position_embeddings', count(1))],
  qkvBias: [row('add_qkv_bias', on(true))],
  qkNorm: [row('qk_layernorm', on(true))],
  activeExperts: [row('moe_router_topk', count(1))],
  expertFfn: [row('moe_ffn_hidden_size', count(1))],
  sharedExpertFfn: [row('moe_shared_expert_intermediate_size', count(1))],
  latentAttention: [row('multi_latent_attention', on(true))],
  qLoraRank: [row('q_lora_rank', count(1))],
  kvLoraRank: [row('kv_lora_rank', count(1))],
  qkNopeHeadDim: [row('qk_head_dim', count(1))],
  qkRopeHeadDim: [row('qk_pos_emb_head_dim', count(1))],
  vHeadDim: [row('v_head_dim', count(1))],
  mtpLayers: [row('mtp_num_layers', count(0))],
  hybridAttentionRatio: [row('hybrid_attention_ratio', share)],
  hybridMlpRatio: [row('hybrid_mlp_ratio', share)],
  outputGate: [row('attention_output_gate', on(true))],
  expertLatent: [row('moe_latent_size', count(1))],
  stateHeads: [row('mamba_num_heads', count(1)), row('linear_num_value_heads', count(1))],
  stateHeadDim: [row('mamba_head_dim', count(1)), row('linear_value_head_dim', count(1))],
  stateDim: [row('mamba_state_dim', count(1)), row('linear_key_head_dim', count(1))],
  stateGroups: [row('mamba_num_groups', count(1)), row('linear_num_key_heads', count(1))],
  stateConvolution: [row('linear_conv_kernel_dim', count(1))],
  tensor: [row('tensor_model_parallel_size', count(1))],
  pipeline: [row('pipeline_model_parallel_size', count(1))],
  context: [row('context_parallel_size', count(1))],
  expert: [row('expert_model_parallel_size', count(1))],
  expertTensor: [row('expert_tensor_parallel_size', count(1))],
  layersPerVirtualStage: [row('num_layers_per_virtual_pipeline_stage', count(1))],
  sequenceLength: [row('seq_length', count(1))],
  recomputeLayers: [row('recompute_num_layers', count(0))],
  sequenceParallel: [row('sequence_parallel', on(true))],
  variableSequenceLengths: [row('variable_seq_lengths', on(true))],
  stagesBeforeReplicas: [row('use_tp_pp_dp_mapping', on(true))],
  overlapGradReduce: [row('overlap_grad_reduce', on(true))],
  overlapParamGather: [row('overlap_param_gather', on(true))],
  fusedCrossEntropy: [row('cross_entropy_loss_fusion', on(true))],
  hiddenDropout: [row('hidden_dropout', share)],
  attentionDropout: [row('attention_dropout', share)],
  fp8Recipe: [row('fp8_recipe', lenient(choice(fp8RecipeWords)))],
  fp8Format: [row('fp8', lenient(choice(fp8FormatWords)))],
  fp8ParamGather: [row('fp8_param_gather', on(true))],
  routerGroups: [row('moe_router_num_groups', count(1))],
  routerGroupTopk: [row('moe_router_group_topk', count(1))],
  overlapExpertComm: [row('overlap_moe_expert_parallel_comm', on(true))],
  microBatch: [row('micro_batch_size', count(1))],
  globalBatch: [row('global_batch_size', count(1))],
  distributedOptimizer: [row('use_distributed_optimizer', on(true))],
} as const satisfies FlagTable;

const virtualStages = [row('virtual_pipeline_model_parallel_size', count(1))] as const;

/**
 * Fields of Megatron Core's `TransformerConfig` and `ModelParallelConfig`, which NeMo, Megatron-Bridge and Megatron-LM's `--yaml-cfg`
 * share, without the section they are in.
 */
export const coreKeys: Table = {
  ...optimizerKeys,
  ...sharedSettings,
  ...detailKeys,
  vocab: [
    row('vocab_size', count(1)),
    row('padded_vocab_size', count(1)),
    row('tokenizer_type', vocabOfType),
    row('tokenizer_model', vocabOfName),
    row('vocab_file', vocabOfName),
  ],
  tiedEmbeddings: [row('share_embeddings_and_output_weights', on(true))],
  positions: [row('position_embedding_type', lenient(choice({ ...positionKinds, alibi: 'none', relative: 'none' })))],
  rotaryBase: [row('rotary_base', lenient(positiveNumber))],
  rotaryShare: [row('rotary_percent', lenient(share)), row('rotary_percentage', lenient(share))],
  normEpsilon: [row('layernorm_epsilon', lenient(positiveNumber)), row('norm_epsilon', lenient(positiveNumber))],
  norm: [row('normalization', lenient(choice(norms)))],
  bias: [row('add_bias_linear', on(true))],
  experts: [row('num_moe_experts', count(1))],
  moeLayerFrequency: [row('moe_layer_freq', layerPattern)],
  slidingWindow: [row('window_size', windowSize)],
  windowFrequency: [row('window_attn_skip_freq', layerPattern)],
  hybridPattern: [row('hybrid_layer_pattern', phrase), row('hybrid_override_pattern', phrase)],
  linearAttentionFrequency: [row('linear_attention_freq', layerPattern)],
  virtualStages,
  pipelineLayout: [row('pipeline_model_parallel_layout', layoutPattern)],
  firstStageLayers: [row('num_layers_in_first_pipeline_stage', count(1))],
  lastStageLayers: [row('num_layers_in_last_pipeline_stage', count(1))],
  precision: [
    row('fp8', lenient(choice({ e4m3: 'fp8', hybrid: 'fp8', true: 'fp8' }))),
    row('fp4', lenient(choice({ e2m1: 'nvfp4' }))),
    row('bf16', fixed('bf16')),
    row('fp16', fixed('fp16')),
  ],
  recomputeGranularity: [row('recompute_granularity', keep(['full', 'selective', 'none']))],
  recomputeMethod: [row('recompute_method', keep(['uniform', 'block']))],
  recomputeModules: [row('recompute_modules', words)],
  attention: [row('attention_backend', ofBackend(backends)), row('use_flash_attn', fixed('flash'))],
  attentionKernel: [row('attention_backend', ofBackend(backendKernels))],
  cpuOffloading: [row('cpu_offloading', on(true))],
  activationOffloadLayers: [row('cpu_offloading_num_layers', count(0))],
  overlapP2p: [row('overlap_p2p_comm', on(true))],
  gradAccumulationFusion: [row('gradient_accumulation_fusion', on(true))],
  gradAccumulationFp32: [
    row('grad_reduce_in_bf16', on(false)),
    row('grad_reduce_in_fp32', on(true)),
    row('accumulate_allreduce_grads_in_fp32', fixed(true)),
    ...(optimizerKeys.gradAccumulationFp32 ?? []),
  ],
  asyncTensorParallel: [row('tp_comm_overlap', on(true)), row('ub_tp_comm_overlap', on(true))],
  cudaGraphs: [
    row('cuda_graph_impl', lenient(choice(graphScopes))),
    row('enable_cuda_graph', fixed('layers')),
    row('external_cuda_graph', fixed('layers')),
  ],
  expertDispatcher: [
    row('moe_flex_dispatcher_backend', lenient(choice(flexDispatchers))),
    row('moe_enable_deepep', fixed('deepep')),
    row('moe_token_dispatcher_type', lenient(choice(tokenDispatchers))),
  ],
  batchSchedule: [row('rampup_batch_size', phrase)],
};

const { tensor, pipeline, context, expert, expertTensor } = sharedSettings;

/** Parallel sizes, which several launchers take. */
export const coreSizes = { tensor, pipeline, context, expert, expertTensor, virtualStages } as const satisfies FlagTable;

/** Names of those sizes by which a file is recognised. */
export const parallelSizes = [tensor, pipeline, context, expert].map(([{ name }]) => name);
