import { vocabOfName, vocabOfType } from '../tables/tokenizers';
import { choice, count, fixed, keep, on, positiveNumber, share, type FlagRead } from '../../languages/reads';
import { optimizerKeys } from '../tables/optimizer-facts';
import { key, lenient, type KeyTable } from '../tables/key-table';
import { anyOf, layerPattern, layoutPattern, windowSize, words, phrase } from '../tables/reads';

const positions = {
  learned_absolute: 'learned',
  rope: 'rotary',
  mrope: 'rotary',
  yarn: 'rotary',
  none: 'none',
  alibi: 'none',
  relative: 'none',
} as const;
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
 * Fields of Megatron Core's `TransformerConfig` and `ModelParallelConfig`, which NeMo, Megatron-Bridge and Megatron-LM's `--yaml-cfg`
 * share, without the section they are in.
 */
export const coreKeys: KeyTable = {
  ...optimizerKeys,
  layers: [key('num_layers', count(1))],
  hidden: [key('hidden_size', count(1))],
  heads: [key('num_attention_heads', count(1))],
  kvHeads: [key('num_query_groups', count(1))],
  headDim: [key('kv_channels', count(1))],
  ffn: [key('ffn_hidden_size', count(1))],
  vocab: [
    key('vocab_size', count(1)),
    key('padded_vocab_size', count(1)),
    key('tokenizer_type', vocabOfType),
    key('tokenizer_model', vocabOfName),
    key('vocab_file', vocabOfName),
  ],
  vocabDivisor: [key('make_vocab_size_divisible_by', count(1))],
  tiedEmbeddings: [key('share_embeddings_and_output_weights', on(true))],
  maxPositions: [key('max_position_embeddings', count(1))],
  positions: [key('position_embedding_type', lenient(choice(positions)))],
  rotaryBase: [key('rotary_base', lenient(positiveNumber))],
  rotaryShare: [key('rotary_percent', lenient(share)), key('rotary_percentage', lenient(share))],
  normEpsilon: [key('layernorm_epsilon', lenient(positiveNumber)), key('norm_epsilon', lenient(positiveNumber))],
  norm: [key('normalization', lenient(choice(norms)))],
  bias: [key('add_bias_linear', on(true))],
  qkvBias: [key('add_qkv_bias', on(true))],
  qkNorm: [key('qk_layernorm', on(true))],
  experts: [key('num_moe_experts', count(1))],
  activeExperts: [key('moe_router_topk', count(1))],
  expertFfn: [key('moe_ffn_hidden_size', count(1))],
  sharedExpertFfn: [key('moe_shared_expert_intermediate_size', count(1))],
  moeLayerFrequency: [key('moe_layer_freq', layerPattern)],
  latentAttention: [key('multi_latent_attention', on(true))],
  qLoraRank: [key('q_lora_rank', count(1))],
  kvLoraRank: [key('kv_lora_rank', count(1))],
  qkNopeHeadDim: [key('qk_head_dim', count(1))],
  qkRopeHeadDim: [key('qk_pos_emb_head_dim', count(1))],
  vHeadDim: [key('v_head_dim', count(1))],
  mtpLayers: [key('mtp_num_layers', count(0))],
  slidingWindow: [key('window_size', windowSize)],
  windowFrequency: [key('window_attn_skip_freq', layerPattern)],
  hybridPattern: [key('hybrid_layer_pattern', phrase), key('hybrid_override_pattern', phrase)],
  hybridAttentionRatio: [key('hybrid_attention_ratio', share)],
  hybridMlpRatio: [key('hybrid_mlp_ratio', share)],
  linearAttentionFrequency: [key('linear_attention_freq', layerPattern)],
  outputGate: [key('attention_output_gate', on(true))],
  expertLatent: [key('moe_latent_size', count(1))],
  stateHeads: [key('mamba_num_heads', count(1)), key('linear_num_value_heads', count(1))],
  stateHeadDim: [key('mamba_head_dim', count(1)), key('linear_value_head_dim', count(1))],
  stateDim: [key('mamba_state_dim', count(1)), key('linear_key_head_dim', count(1))],
  stateGroups: [key('mamba_num_groups', count(1)), key('linear_num_key_heads', count(1))],
  stateConvolution: [key('linear_conv_kernel_dim', count(1))],
  tensor: [key('tensor_model_parallel_size', count(1))],
  pipeline: [key('pipeline_model_parallel_size', count(1))],
  context: [key('context_parallel_size', count(1))],
  expert: [key('expert_model_parallel_size', count(1))],
  expertTensor: [key('expert_tensor_parallel_size', count(1))],
  virtualStages: [key('virtual_pipeline_model_parallel_size', count(1))],
  layersPerVirtualStage: [key('num_layers_per_virtual_pipeline_stage', count(1))],
  pipelineLayout: [key('pipeline_model_parallel_layout', layoutPattern)],
  firstStageLayers: [key('num_layers_in_first_pipeline_stage', count(1))],
  lastStageLayers: [key('num_layers_in_last_pipeline_stage', count(1))],
  sequenceLength: [key('seq_length', count(1))],
  precision: [
    key('fp8', lenient(choice({ e4m3: 'fp8', hybrid: 'fp8', true: 'fp8' }))),
    key('fp4', lenient(choice({ e2m1: 'nvfp4' }))),
    key('bf16', fixed('bf16')),
    key('fp16', fixed('fp16')),
  ],
  recomputeGranularity: [key('recompute_granularity', keep(['full', 'selective', 'none']))],
  recomputeMethod: [key('recompute_method', keep(['uniform', 'block']))],
  recomputeLayers: [key('recompute_num_layers', count(0))],
  recomputeModules: [key('recompute_modules', words)],
  sequenceParallel: [key('sequence_parallel', on(true))],
  attention: [key('attention_backend', ofBackend(backends)), key('use_flash_attn', fixed('flash'))],
  attentionKernel: [key('attention_backend', ofBackend(backendKernels))],
  cpuOffloading: [key('cpu_offloading', on(true))],
  activationOffloadLayers: [key('cpu_offloading_num_layers', count(0))],
  variableSequenceLengths: [key('variable_seq_lengths', on(true))],
  overlapP2p: [key('overlap_p2p_comm', on(true))],
  gradAccumulationFusion: [key('gradient_accumulation_fusion', on(true))],
  stagesBeforeReplicas: [key('use_tp_pp_dp_mapping', on(true))],
  overlapGradReduce: [key('overlap_grad_reduce', on(true))],
  overlapParamGather: [key('overlap_param_gather', on(true))],
  fusedCrossEntropy: [key('cross_entropy_loss_fusion', on(true))],
  gradAccumulationFp32: [
    key('grad_reduce_in_bf16', on(false)),
    key('grad_reduce_in_fp32', on(true)),
    key('accumulate_allreduce_grads_in_fp32', fixed(true)),
    ...(optimizerKeys.gradAccumulationFp32 ?? []),
  ],
  hiddenDropout: [key('hidden_dropout', share)],
  attentionDropout: [key('attention_dropout', share)],
  asyncTensorParallel: [key('tp_comm_overlap', on(true)), key('ub_tp_comm_overlap', on(true))],
  fp8Recipe: [key('fp8_recipe', lenient(choice(fp8RecipeWords)))],
  fp8ParamGather: [key('fp8_param_gather', on(true))],
  cudaGraphs: [
    key('cuda_graph_impl', lenient(choice(graphScopes))),
    key('enable_cuda_graph', fixed('layers')),
    key('external_cuda_graph', fixed('layers')),
  ],
  expertDispatcher: [
    key('moe_flex_dispatcher_backend', lenient(choice(flexDispatchers))),
    key('moe_enable_deepep', fixed('deepep')),
    key('moe_token_dispatcher_type', lenient(choice(tokenDispatchers))),
  ],
  routerGroups: [key('moe_router_num_groups', count(1))],
  routerGroupTopk: [key('moe_router_group_topk', count(1))],
  overlapExpertComm: [key('overlap_moe_expert_parallel_comm', on(true))],
  microBatch: [key('micro_batch_size', count(1))],
  globalBatch: [key('global_batch_size', count(1))],
  batchSchedule: [key('rampup_batch_size', phrase)],
  distributedOptimizer: [key('use_distributed_optimizer', on(true))],
};
