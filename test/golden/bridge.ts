import type { ModelSpec } from '../../src/core/domain/model';
import { layerParameters, parameterCount, rankExpertParameters } from '../../src/core/model/parameters';
import { gpt, llama3 } from './requests';
import { golden } from './data';

interface BridgeCase {
  readonly id: string;
  readonly model: string;
  readonly model_facts: {
    readonly layers: number;
    readonly hidden: number;
    readonly heads: number;
    readonly kv: number;
    readonly head_dim?: number;
    readonly ffn: number;
    readonly vocab: number;
    readonly swiglu: boolean;
    readonly untie: boolean;
    readonly experts?: number;
    readonly topk?: number;
    readonly moe_ffn?: number;
  };
  readonly parallel: {
    readonly tp: number;
    readonly pp: number;
    readonly dp: number;
    readonly cp: number;
    readonly dist_opt: boolean;
    readonly ep: number;
    readonly etp: number;
  };
  readonly uneven: { readonly num_layers_in_first_pipeline_stage?: number; readonly num_layers_in_last_pipeline_stage?: number };
  /** All parameters outside routed experts, then those inside. */
  readonly components: readonly { readonly params: number; readonly params_per_gpu: number; readonly bytes_per_param: number }[];
}

/** One number of Megatron-Bridge's estimator, and ours. */
export interface BridgeRow {
  readonly name: string;
  readonly theirs: number;
  readonly ours: number;
}

/**
 * Megatron-Bridge's parameter terms (`estimate_training_memory`) and ours where they mean the same: all parameters outside and in routed
 * experts, a rank's experts, and bytes a parameter. It counts every norm with a bias (RMSNorm has none), no biases of matrices, no router,
 * no norm of queries and keys and no positions, so ours are taken the same way; its `params_per_gpu` of the rest is a bound of its own.
 */
export function bridgeRows(): readonly BridgeRow[] {
  return (golden('megatron-bridge-parameters') as { readonly cases: readonly BridgeCase[] }).cases.flatMap(bridgeTerms);
}

function modelOf({ model_facts: facts }: BridgeCase): ModelSpec {
  const { layers, hidden, heads, kv, ffn, vocab, swiglu, untie, experts, topk, moe_ffn } = facts;
  return {
    ...(swiglu ? llama3('70b', layers) : gpt(layers, hidden, heads, vocab)),
    hidden,
    heads,
    kvHeads: kv,
    headDim: facts.head_dim ?? hidden / heads,
    ffn: moe_ffn ?? ffn,
    vocab,
    tiedEmbeddings: !untie,
    positions: 'rotary',
    norm: 'layernorm',
    qkvBias: false,
    attentionOutputBias: false,
    mlpBias: false,
    experts: experts === undefined || topk === undefined ? null : { count: experts, active: topk },
  };
}

/** Layers of the fullest stage. */
function fullestStage({ uneven }: BridgeCase, layers: number, stages: number): number {
  const { num_layers_in_first_pipeline_stage: first, num_layers_in_last_pipeline_stage: last } = uneven;
  return first === undefined || last === undefined ? layers / stages : Math.max(first, last, (layers - first - last) / (stages - 2));
}

function bridgeTerms(row: BridgeCase): BridgeRow[] {
  const model = modelOf(row);
  const { tp, dp, cp, ep, etp, pp, dist_opt } = row.parallel;
  const { mlpUp, mlpDown, router } = layerParameters(model);
  const routed = model.experts === null ? 0 : model.layers * (mlpUp + mlpDown);
  const padding = (Math.ceil(model.vocab / (128 * tp)) * 128 * tp - model.vocab) * model.hidden * (model.tiedEmbeddings ? 1 : 2);
  const rest = parameterCount(model) - routed - model.layers * router + padding;
  const [dense, experts] = row.components;
  const state = (replicas: number): number => (dist_opt ? 6 + 12 / replicas : 18);
  return [
    ...(dense === undefined
      ? []
      : [
          { name: `${row.id} ${row.model} outside experts`, theirs: dense.params, ours: rest },
          { name: `${row.id} ${row.model} bytes a parameter`, theirs: dense.bytes_per_param, ours: state(dp * cp) },
        ]),
    ...(experts === undefined
      ? []
      : [
          { name: `${row.id} ${row.model} experts`, theirs: experts.params, ours: routed },
          {
            name: `${row.id} ${row.model} experts of a rank`,
            theirs: experts.params_per_gpu,
            ours: fullestStage(row, model.layers, pp) * rankExpertParameters(model, { tensor: tp, expert: ep, expertTensor: etp }),
          },
        ]),
  ];
}
