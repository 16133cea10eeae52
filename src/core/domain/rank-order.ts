/**
 * In which order ranks are numbered, the kinds of parallelism whose ranks lie next to each other first, as Megatron-LM writes it
 * (`RankGenerator` of megatron/core/parallel_state.py): replicas before stages, or the stages of a pipeline before replicas
 * (`--use-tp-pp-dp-mapping`, TeraPipe's runtime).
 */
export const rankOrders = ['tp-cp-ep-dp-pp', 'tp-cp-ep-pp-dp'] as const;
export type RankOrder = (typeof rankOrders)[number];

/** @param stagesBeforeReplicas as `--use-tp-pp-dp-mapping` says. */
export function rankOrderBy(stagesBeforeReplicas: boolean): RankOrder {
  return stagesBeforeReplicas ? 'tp-cp-ep-pp-dp' : 'tp-cp-ep-dp-pp';
}
