import assert from 'node:assert/strict';
import type { Facts } from '../../../../../src/core/run/facts';
import type { LaunchSettings } from '../../../../../src/core/launchers/writing/launch-settings';

/** What a file sets once read, to be compared with the plan. Independent of the code that is tested. */
export interface ReadLayout {
  /** Throws where the file differs from the plan, though `gaps` do not mention it. */
  readonly assertSame: (gaps: readonly string[]) => void;
}

type Expected = readonly (readonly [what: string, read: unknown, wanted: unknown, gap?: RegExp | undefined])[];

function layoutOf(rows: Expected): ReadLayout {
  return {
    assertSame: (gaps) => {
      for (const [what, read, wanted, gap] of rows) {
        const isReported = gap !== undefined && gaps.some((entry) => gap.test(entry));
        if (!isReported) assert.deepEqual(read, wanted, what);
      }
    },
  };
}

/**
 * Megatron's shell, YAML, NeMo, Bridge and what builds on them.
 * @param recomputeGap how a gap begins where a launcher cannot express all of recompute.
 */
export function megatronLayout(facts: Facts, plan: LaunchSettings, recomputeGap?: RegExp): ReadLayout {
  const { layers } = plan.model;
  return layoutOf([
    ...(['tensor', 'pipeline', 'context', 'expert'] as const).map((name) => [name, facts[name]?.value ?? 1, plan[name]] as const),
    ['sequence length', facts.sequenceLength?.value, plan.sequenceLength],
    ['micro-batch', facts.microBatch?.value, plan.microBatch],
    ['global batch', facts.globalBatch?.value, plan.globalBatch],
    ['precision', computesIn(facts) ?? 'fp32', plan.precision, /^precision/],
    ['stages', megatronStageLayers(facts, layers), plan.stageLayers, /layers? on/],
    ['sequence parallel', plan.tensor > 1 && (facts.sequenceParallel?.value ?? false), plan.tensor > 1 && plan.sequenceParallel],
    ['recompute', facts.recomputeGranularity?.value ?? 'none', plan.recompute.granularity, recomputeGap],
    [
      'recomputed together',
      facts.recomputeMethod?.value === 'uniform' ? facts.recomputeLayers?.value : 1,
      plan.recompute.group ?? 1,
      recomputeGap,
    ],
    [
      'overlapped with compute',
      facts.overlapGradReduce?.value === true || plan.overlapGradReduce === undefined,
      true,
      /overlapped with backward/,
    ],
    ['on the host', facts.cpuOffloading?.value === true ? facts.activationOffloadLayers?.value : 0, plan.activationOffloadLayers ?? 0],
    ['ZeRO', facts.zeroStage?.value ?? (facts.distributedOptimizer?.value === true ? 1 : 0), plan.zeroStage, /^ZeRO [23]/],
    ['GPUs', gpus(facts), plan.tensor * plan.pipeline * plan.data * plan.context, /GPUs?, so that/],
  ]);
}

/** Plans count fp8 as bf16. */
function computesIn({ precision }: Facts): string | undefined {
  return precision?.value === 'fp8' ? 'bf16' : precision?.value;
}

function gpus({ nodes, gpusPerNode }: Facts): number | undefined {
  return nodes && gpusPerNode && nodes.value * gpusPerNode.value;
}

/** Stage after stage, as `get_num_layers_to_build` of Megatron Core divides the layers. */
function megatronStageLayers(facts: Facts, layers: number): readonly number[] | string {
  const pipeline = facts.pipeline?.value ?? 1;
  if (facts.pipelineLayout !== undefined) {
    const open = facts.pipelineLayout.value.replace(/t\*(\d+)/g, (_, times: string) => 't'.repeat(Number(times)));
    return open.split('|').map((stage) => stage.replace(/[^t]/g, '').length);
  }
  const perVirtual = facts.layersPerVirtualStage?.value;
  const first = facts.firstStageLayers?.value;
  const last = facts.lastStageLayers?.value;
  if (first !== undefined && last !== undefined) {
    const middle = Array.from({ length: pipeline - 2 }, () => (layers - first - last) / (pipeline - 2));
    return [first, ...middle, last];
  }
  const extra = [facts.embeddingAsLayer, facts.lossAsLayer].map((fact) => Number(fact?.value ?? false));
  const all = layers + extra[0]! + extra[1]!;
  const virtual = facts.virtualStages?.value ?? (perVirtual === undefined ? 1 : all / pipeline / perVirtual);
  const stages = pipeline * virtual;
  if (!Number.isInteger(stages)) return 'not whole';
  const divided = Array.from({ length: stages }, () => all / stages);
  divided[0]! -= extra[0]!;
  divided[stages - 1]! -= extra[1]!;
  return divided;
}

const titanPrecisions = { bf16: 'bf16', fp32: 'fp32', fp16: 'fp16' } as const;

export function titanLayout(facts: Facts, plan: LaunchSettings, text: string): ReadLayout {
  const { pipeline, data, globalBatch, microBatch } = plan;
  const shards = facts.dataShard?.value ?? -1;
  const world = pipeline * plan.tensor * plan.context * data;
  const sharded = shards === -1 ? world / (pipeline * plan.tensor * plan.context * (facts.dataReplicate?.value ?? 1)) : shards;
  const local = facts.localBatch?.value ?? 0;
  return layoutOf([
    ...(['tensor', 'pipeline', 'context', 'expert'] as const).map((name) => [name, facts[name]?.value ?? 1, plan[name]] as const),
    ['data', (facts.dataReplicate?.value ?? 1) * sharded, data],
    ['sharded', sharded > 1, plan.zeroStage > 0 && data > 1],
    ['sequence length', facts.sequenceLength?.value ?? 2048, plan.sequenceLength],
    ['global batch', facts.globalBatch?.value ?? local * data, globalBatch],
    ['micro-batch', pipeline === 1 ? local : facts.microBatch?.value, microBatch],
    ['micro-batches', pipeline === 1 ? 1 : local / microBatch, pipeline === 1 ? 1 : globalBatch / data / microBatch],
    ['precision', computesIn(facts) ?? 'bf16', titanPrecisions[plan.precision], /^precision/],
    ['recompute', facts.recomputeGranularity?.value ?? 'selective', plan.recompute.granularity, /^recompute/],
    ['stages', titanStageLayers(facts, plan, text), plan.stageLayers],
    [
      'schedule',
      pipeline === 1 ? '1F1B' : (facts.schedule?.value ?? '1F1B').replace('interleaved_1f1b', 'Interleaved1F1B'),
      pipeline === 1 ? '1F1B' : plan.schedule,
      /token slices/,
    ],
    [
      'sequence parallel',
      plan.tensor === 1 || (facts.sequenceParallel?.value ?? true),
      plan.tensor === 1 || plan.sequenceParallel,
      /^sequence parallelism/,
    ],
  ]);
}

/** As `generate_llm_fqn_per_model_part` names modules, layer by layer. */
function titanStageLayers(facts: Facts, { model, pipeline }: LaunchSettings, text: string): readonly number[] {
  const [first, last] = [facts.firstStageLessLayers?.value ?? 1, facts.lastStageLessLayers?.value ?? 1];
  if (pipeline === 1) return [model.layers];
  const listed = /^ *module_fqns_per_model_part(?: =|:) (.*)$/m.exec(text)?.[1];
  if (listed !== undefined) {
    const names = JSON.parse(listed.replace(/"?\b([\w.]+)"?/g, '"$1"')) as readonly (readonly string[])[];
    assert.deepEqual(names.flat(), ['tok_embeddings', ...Array.from({ length: model.layers }, (_, layer) => `layers.${layer}`), 'norm', 'output']); // prettier-ignore
    return names.map((stage) => stage.filter((name) => name.startsWith('layers.')).length);
  }
  const points = /^pipeline_parallel_split_points = (.*)$/m.exec(text)?.[1];
  if (points !== undefined) {
    const starts = (JSON.parse(points) as readonly string[]).map((name) => Number(name.replace('layers.', '')));
    return [...starts, model.layers].map((end, index) => end - (starts[index - 1] ?? 0));
  }
  const perStage = facts.layersPerStage?.value;
  const isLooped = facts.schedule?.value === 'Interleaved1F1B';
  const stages = perStage === undefined ? pipeline * (isLooped ? 2 : 1) : Math.ceil((model.layers + first + last) / perStage);
  const slots = Array.from({ length: model.layers + first + last }, (_, index) => index);
  const sizes = Array.from({ length: stages }, () => Math.floor(slots.length / stages));
  for (let stage = 0; stage < slots.length % stages; stage += 1) sizes[stage]! += 1;
  sizes[0]! -= first;
  sizes[stages - 1]! -= last;
  return sizes;
}

export function deepspeedLayout(facts: Facts, plan: LaunchSettings): ReadLayout {
  const { globalBatch, microBatch, data } = plan;
  return layoutOf([
    ['global batch', facts.globalBatch?.value, globalBatch, /^global/],
    ['micro-batch', facts.microBatch?.value, microBatch, /^micro/],
    ['steps', facts.gradientAccumulation?.value ?? globalBatch / microBatch / data, globalBatch / microBatch / data],
    // Its pipeline engine refuses ZeRO 2 and 3.
    ['ZeRO', facts.zeroStage?.value ?? 0, plan.pipeline > 1 ? Math.min(1, plan.zeroStage) : plan.zeroStage, /^ZeRO \d( with a tensor|$)/],
    ['tensor', facts.tensor?.value ?? 1, plan.tensor, /^tensor/],
    ['pipeline', facts.pipeline?.value ?? 1, plan.pipeline, /^pipeline/],
    ['precision', facts.precision?.value ?? 'fp32', plan.precision, /^precision/],
    ['recompute', facts.recomputeGranularity?.value ?? 'none', plan.recompute.granularity, /^recompute/],
  ]);
}

/** GPT-NeoX and nanotron, whose files say few of the sizes. */
export function smallLayout(facts: Facts, plan: LaunchSettings, expertGap?: RegExp): ReadLayout {
  const { globalBatch, microBatch, data } = plan;
  const steps = globalBatch / microBatch / data;
  const isGrouped = (plan.recompute.group ?? 1) > 1;
  return layoutOf([
    ...(['tensor', 'pipeline'] as const).map((name) => [name, facts[name]?.value ?? 1, plan[name]] as const),
    ['expert', facts.expert?.value ?? 1, plan.expert, expertGap],
    ['context', facts.context?.value ?? 1, plan.context, /^context/],
    ['data', facts.data?.value ?? data, data],
    ['sequence length', facts.sequenceLength?.value, plan.sequenceLength],
    ['micro-batch', facts.microBatch?.value, microBatch],
    ['global batch', facts.globalBatch?.value ?? globalBatch, globalBatch],
    ['steps', facts.gradientAccumulation?.value ?? steps, steps],
    ['ZeRO', facts.zeroStage?.value ?? 0, plan.zeroStage, /^ZeRO stage [23]/],
    ['recompute', facts.recomputeGranularity?.value ?? 'none', plan.recompute.granularity, /^recompute/],
    ['recomputed together', isGrouped ? (facts.recomputeLayers?.value ?? 1) : 1, plan.recompute.group ?? 1, /^recompute/],
    ['sequence parallel', plan.tensor > 1 && (facts.sequenceParallel?.value ?? false), plan.tensor > 1 && plan.sequenceParallel],
  ]);
}
