import type { LocatedPartial } from '../run/given';
import type { ModelSpec } from '../domain/model';
import type { Layout } from '../domain/request';
import { sentence } from '../sentence';
import { scheduleOn } from '../schedules/on-layout';
import { derivedValue, type ValueOrDefault } from './defaults-recorder';
import { isOwnMegatron, type RecipeSettings } from './release-recipe';

/** Layers of DeepSeek-V3 and of Kimi K2, which no number of chunks divides. */
const oddLayers = 61;

/**
 * Layers of each chunk of a model of DeepSeek-V3's shape, by the number of chunks, as the recipes of Megatron-Bridge cut it: chunks alike,
 * and the last one, with the head, has what is left; with two layers a chunk, embedding and head have chunks of their own (`Et|(tt|)*30L`).
 * Source: `set_deepseek_v3_pipeline_model_parallel_layout` and `_get_kimi_k2_pipeline_layout` of NVIDIA-NeMo/Megatron-Bridge, the same from
 * v0.3.0 to 067f987df, and `pp_layout` of its performance recipes.
 */
const cuts: Readonly<Record<number, readonly number[]>> = {
  4: [16, 16, 16, 13],
  8: [...alike(7, 8), 5],
  16: [...alike(15, 4), 1],
  32: [1, ...alike(30, 2), 0],
};

function alike(chunks: number, layers: number): number[] {
  return Array.from({ length: chunks }, () => layers);
}

type CutRun = Omit<RecipeSettings, 'layout'> & { readonly layout: LocatedPartial<Layout> };

/** The facts of a model that decide it: its layers, and whether it has experts and latent attention. */
interface CutModel extends Pick<ModelSpec, 'layers' | 'latent'> {
  readonly experts: object | number | null;
}

/**
 * The cut that recipes give a model which Megatron-LM cannot cut evenly, and so refuses without one; null where they have none of their
 * own, where the file gives one, or another framework or launcher decides.
 * @returns layers of each chunk, in order of the layers.
 */
export function recipeCut(run: CutRun, { layers, experts, latent = null }: CutModel): readonly number[] | null {
  const { pipeline, virtualStages, stageLayers } = run.layout;
  const isOdd = layers === oddLayers && experts !== null && latent !== null;
  if (!isOdd || stageLayers !== undefined || pipeline === undefined || !isOwnMegatron(run)) return null;
  const [stages, virtual] = [pipeline.value, virtualStages?.value ?? 1];
  const { chunks, placement } = scheduleOn(run.schedule?.value ?? '1F1B', { virtualStages: virtual });
  return stages > 1 && placement !== 'v' && chunks === virtual ? (cuts[stages * virtual] ?? null) : null;
}

/** What is given of a layout, with that cut, which is reported. */
export function withCutOfRecipe(run: CutRun, model: ModelSpec, valueOrDefault: ValueOrDefault): LocatedPartial<Layout> {
  const cut = recipeCut(run, model);
  if (cut === null) return run.layout;
  const reason = sentence`as the recipes of Megatron-Bridge cut it`;
  return { ...run.layout, stageLayers: derivedValue(valueOrDefault, 'layout.stageLayers', cut, reason) };
}
