/**
 * Which ranks lie next to each other beyond tensor parallelism: replicas (Megatron-LM) or the stages of a pipeline (TeraPipe's runtime).
 */
export type RankOrder = 'data' | 'pipeline';
