import { makespanProblem } from '../../src/core/planner/candidates/makespan-problem';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { analyticKinks } from '../../src/core/time-model/context-kinks';
import { scheduleKind } from '../../src/core/schedules/registry';
import { uniformLengths } from '../../src/core/slicing/baselines';
import { equalWorkLengths, forwardWork } from '../../src/core/slicing/chunk-rules';
import { graphMakespan } from '../../src/core/slicing/makespan/pass-graph';
import type { MakespanProblem } from '../../src/core/slicing/makespan/problem';
import type { ScheduleName } from '../../src/core/domain/schedule-names';
import { gpt, llama3, request } from '../golden/requests';

/** A problem of a size that people have. */
export interface RandomProblem {
  readonly name: string;
  readonly problem: MakespanProblem;
}

/** Numbers from 0 to 1, the same every time. */
export function drawn(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const usualKinds: readonly ScheduleName[] = ['Seq1F1B', 'TeraPipe'];

/**
 * Problems of 4 to 16 stages, 2 to 64 micro-batches and 4,096 to 131,072 tokens in units of 64 and more, on models and GPUs that exist:
 * times and sends are the planner's, so the last stage has the head. The same whatever their number. Two chunks a stage where a kind takes
 * several.
 */
export function randomProblems(count: number, kinds: readonly ScheduleName[] = usualKinds): readonly RandomProblem[] {
  const next = drawn(20261123);
  const one = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!;
  return Array.from({ length: count }, () => {
    const pipeline = Math.round(4 * 4 ** next());
    const microBatches = Math.round(2 * 32 ** next());
    const tokens = 1024 * Math.round(4 * 32 ** next());
    const unit = one([64, 64, 128, 256]);
    const schedule = one(kinds);
    const layersPerStage = one([1, 2, 3, 5]);
    const virtualStages = scheduleKind(schedule).chunksPerStage === 'several' ? 2 : 1;
    const layers = pipeline * layersPerStage * virtualStages;
    const [modelName, model] = one([
      ['GPT of 2,048', gpt(layers, 2048, 16, 51200)],
      ['GPT of 5,120', gpt(layers, 5120, 40, 51200)],
      ['Llama 3 70B', llama3('70b', layers)],
    ] as const);
    const gpu = one(['H100-80GB', 'A100-80GB', 'V100-32GB'] as const);
    const tensor = one([1, 4, 8]);
    const recompute = one(['none', 'full'] as const);
    const wanted = request(gpu, model, {
      training: { sequenceLength: tokens, globalBatch: microBatches, attention: 'flash', recompute, dropout: false },
      layout: { tensor, pipeline, virtualStages },
    });
    const made = buildPipeline(wanted);
    const units = Math.ceil(tokens / unit);
    const lengths = Array.from({ length: units }, (_, index) => (index + 1) * unit);
    const contextKinks = [
      ...new Set(
        (analyticKinks(made.inputs, 1, lengths) ?? [])
          .filter((kink) => kink > 0 && kink < tokens)
          .map((kink) => Math.floor(kink / unit) * unit + unit / 2),
      ),
    ];
    const known = Array.from({ length: 32 }, (_, index) => equalWorkLengths(tokens, index + 1, unit, forwardWork(model)) ?? []).filter(
      (cut) => cut.length > 0,
    );
    const problem = makespanProblem(made, made.schedules[schedule], {
      microBatches,
      microBatch: 1,
      tokens,
      unit,
      mostSlices: 256,
      contextKinks,
      known,
    });
    return {
      name: `${schedule}, ${pipeline} stages, ${microBatches} micro-batches, ${tokens} tokens by ${unit}, ${modelName}, ${layersPerStage} layers a stage, tensor ${tensor}, ${gpu}, recompute ${recompute}`,
      problem,
    };
  });
}

/** The fastest of whole sequences, equal slices and slices of equal work. */
export function fastestRule(problem: MakespanProblem): { readonly name: string; readonly makespanMs: number } {
  const { tokens, unit, times, writeTimes, buildGraph, mostSlices, known = [] } = problem;
  const equal = Array.from({ length: Math.min(mostSlices, Math.ceil(tokens / unit), 128) }, (_, index) =>
    uniformLengths(tokens, unit, index + 1),
  );
  let best = { name: '', makespanMs: Infinity };
  const out = new Float64Array(times);
  for (const [name, cuts] of [
    ['equal slices', equal],
    ['equal work', known],
  ] as const)
    for (const lengths of cuts) {
      const graph = buildGraph(lengths.length);
      if (graph === null) continue;
      const ms = new Float64Array(lengths.length * times + 1);
      let context = 0;
      lengths.forEach((length, slice) => {
        writeTimes(length, context, out);
        ms.set(out, slice * times);
        context += length;
      });
      const makespanMs = graphMakespan(graph, ms);
      if (makespanMs < best.makespanMs) best = { name: `${name}, ${lengths.length}`, makespanMs };
    }
  return best;
}
