import type { LocatedPartial } from '../run/given';
import type { Run } from '../run/run';
import type { ModelSpec } from '../domain/model';
import type { Profile } from '../domain/profile';
import type { Layout } from '../domain/request';
import type { ScheduleName } from '../domain/schedule-names';
import { isLauncher } from '../launchers/registry';
import { scheduleOn } from '../schedules/on-layout';
import { sentence } from '../sentence';
import { derivedValue, type ValueOrDefault } from './defaults-recorder';
import { withCutOfRecipe } from './recipe-cut';

/**
 * The run with what follows for its layout from what the files give: a cut fixes the number of stages, a profile they name the tensor and
 * expert sizes it was measured for, the recipe of a model its cut.
 */
export function withLayoutGiven(run: Run, model: ModelSpec, valueOrDefault: ValueOrDefault): Run {
  const sized = { ...run, layout: sizesGiven(run, model, valueOrDefault) };
  return { ...sized, layout: withCutOfRecipe(sized, model, valueOrDefault) };
}

function sizesGiven(run: Run, model: ModelSpec, valueOrDefault: ValueOrDefault): LocatedPartial<Layout> {
  const { layout: written, profile, schedule, format } = run;
  const layout = withStagesOfCut(withChunksOfCut(written, schedule?.value, valueOrDefault), valueOrDefault);
  const measured = profile?.value?.profile;
  const reason = sentence`the profile was measured for it`;
  const ranks = measured === undefined || layout.expert !== undefined ? null : expertRanks(model, measured);
  const shared = ranks === null ? layout : { ...layout, expert: derivedValue(valueOrDefault, 'layout.expert', ranks, reason) };
  if (measured === undefined || layout.tensor !== undefined) return withWholeExperts(shared, format, valueOrDefault);
  return { ...shared, tensor: derivedValue(valueOrDefault, 'layout.tensor', measured.tensor, reason) };
}

/** Ranks that share the experts of a model as a profile's layer has them; null without experts, and where no whole number does. */
function expertRanks({ experts }: ModelSpec, { shape }: Profile): number | null {
  const ranks = (experts?.count ?? 0) / (shape.experts?.count ?? Infinity);
  return ranks >= 1 && Number.isInteger(ranks) ? ranks : null;
}

/**
 * Experts that ranks share out are whole, where a file of no launcher leaves that open: so are those of every recipe of Megatron-Bridge
 * with tensor and expert parallelism.
 */
function withWholeExperts(layout: LocatedPartial<Layout>, format: Run['format'], valueOrDefault: ValueOrDefault): LocatedPartial<Layout> {
  const isShared = (layout.expert?.value ?? 1) > 1 && (layout.tensor?.value ?? 1) > 1;
  if (layout.expertTensor !== undefined || !isShared || isLauncher(format)) return layout;
  const reason = sentence`experts whole on a GPU, as launchers run them with expert parallelism`;
  return { ...layout, expertTensor: derivedValue(valueOrDefault, 'layout.expertTensor', 1, reason) };
}

/** A cut with an entry for each chunk of the schedule that is asked for means that the stages have this many. */
function withChunksOfCut(
  layout: LocatedPartial<Layout>,
  schedule: ScheduleName | undefined,
  valueOrDefault: ValueOrDefault,
): LocatedPartial<Layout> {
  const { stageLayers, pipeline, virtualStages } = layout;
  const chunks = schedule === undefined ? 1 : scheduleOn(schedule, { virtualStages: 1 }).chunksPerStage;
  if (chunks === 'several' || chunks === 1 || virtualStages !== undefined || pipeline === undefined) return layout;
  if (stageLayers?.value?.length !== pipeline.value * chunks) return layout;
  const reason = sentence`layout.stageLayers has an entry for each chunk of ${schedule ?? ''}`;
  return { ...layout, virtualStages: derivedValue(valueOrDefault, 'layout.virtualStages', chunks, reason) };
}

/** A cut gives the number of stages. */
function withStagesOfCut(layout: LocatedPartial<Layout>, valueOrDefault: ValueOrDefault): LocatedPartial<Layout> {
  const { stageLayers, pipeline, virtualStages } = layout;
  const stages = (stageLayers?.value?.length ?? 0) / (virtualStages?.value ?? 1);
  if (stages === 0 || pipeline !== undefined || !Number.isInteger(stages)) return layout;
  return { ...layout, pipeline: derivedValue(valueOrDefault, 'layout.pipeline', stages, sentence`as many as layout.stageLayers has`) };
}
