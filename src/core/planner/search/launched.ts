import { formatCount, formatDuration, plural } from '../../format';
import { verdictText, verdictWord } from '../../memory/verdict';
import { placeChunks } from '../../schedule/registry';
import type { ScheduleName } from '../../schedule/schedule';
import { chunksPerStage, kindFor } from '../scheduling';
import { usualCut } from '../stages';
import type { SearchPoint } from './known';
import type { FoundPlan, SearchResult } from './result';
import type { SearchProblem } from './space';
import { layoutText, whyLost } from './words';

/** The layout that a file launches, in the terms of a search: with the schedule that it names, or with each of those that it leaves open. None where the batch does not divide. */
export function launchedPoints({ request, schedules, launched = false }: SearchProblem): SearchPoint[] {
  const { model, layout, training, slicing } = request;
  const { pipeline, data } = layout;
  const microBatches = training.globalBatch / data / training.microBatch;
  if (!launched || !Number.isInteger(microBatches) || pipeline > model.layers) return [];
  const names: readonly ScheduleName[] =
    request.schedule !== null
      ? [request.schedule]
      : slicing.scheme !== null
        ? ['TeraPipe']
        : pipeline === 1 || layout.virtualStages > 1
          ? ['1F1B']
          : (['1F1B', 'GPipe', 'TeraPipe'] as const).filter((name) => schedules?.includes(name) ?? true);
  return names.map((schedule) => ({
    ...{ layout, training, schedule, slices: 1, keys: { time: 'launched', sliced: 'launched', holding: 'launched' } },
    stageLayers: layout.stageLayers ?? stageLayersOf(request, schedule),
  }));
}

/** Layers of each stage, as equal as the schedule's chunks allow. */
function stageLayersOf({ model, training, layout }: SearchProblem['request'], schedule: ScheduleName): number[] {
  const kind = kindFor(schedule, layout);
  const chunks = chunksPerStage(kind, layout);
  const layers = Array.from({ length: layout.pipeline }, () => 0);
  const cut = usualCut(model, training, layout.pipeline * chunks);
  placeChunks(kind.placement, layout.pipeline, chunks).forEach((stage, chunk) => {
    layers[stage] = (layers[stage] ?? 0) + (cut[chunk] ?? 0);
  });
  return layers;
}

/** Where the layout that the files launch stands beside the best. */
export interface LaunchedAgainstBest {
  readonly launched: FoundPlan;
  readonly best: FoundPlan;
  /** Step time of the launched over that of the best: above 1 the best is faster. */
  readonly speedup: number;
  /** `as launched 14.2 s, best 11.8 s`. */
  readonly title: string;
  /** Why, in a sentence: `tensor 16 crosses nodes of 8 GPUs: 1.6x the time of tensor 8 x pipeline 16 x data 128, ...: 5.3 s more exchanges inside layers`. */
  readonly says: string;
}

/** The launched layout of a search against its best, in words; null where the files launch no whole layout. */
export function launchedAgainstBest({ launched, best, request }: SearchResult): LaunchedAgainstBest | null {
  if (launched === null) return null;
  const speedup = launched.iterationMs / best.iterationMs;
  const title = `as launched ${formatDuration(launched.iterationMs)}${launched.fits ? '' : ` (${verdictWord(launched)})`}, best ${formatDuration(best.iterationMs)}${best.fits ? '' : ` (${verdictWord(best)})`}`;
  return { launched, best, speedup, title, says: [...faults(launched, request), against(launched, best)].join(': ') };
}

/** What is plainly wrong with a launched layout. */
function faults({ point, verdict, scheme }: FoundPlan, { cluster }: SearchResult['request']): string[] {
  const { tensor, pipeline, virtualStages } = point.layout;
  const uneven = virtualStages > 1 && scheme.length % pipeline !== 0;
  const faults = [
    ...(uneven
      ? [`interleaving wants a multiple of ${plural(pipeline, 'micro-batch', 'micro-batches')}, not ${formatCount(scheme.length)}`]
      : []),
    ...(tensor > cluster.gpusPerNode ? [`tensor ${formatCount(tensor)} crosses nodes of ${formatCount(cluster.gpusPerNode)} GPUs`] : []),
    ...(verdict.fits ? [] : [verdictText(verdict)]),
  ];
  return faults.length > 0 ? [faults.join(', ')] : [];
}

function against(launched: FoundPlan, best: FoundPlan): string {
  const other = `${layoutText(best.point)}, ${best.name}`;
  if (!best.fits) return launched.iterationMs === best.iterationMs ? 'no layout fits' : `no layout fits; least memory has ${other}`;
  if (isSame(launched, best)) return 'this is the best layout';
  if (launched.iterationMs < best.iterationMs)
    return `${launched.fits ? 'the best that launchers accept' : 'the best that fits'} is ${other}`;
  return `${whyLost(launched, best)}; against ${other}`;
}

function isSame(a: FoundPlan, b: FoundPlan): boolean {
  return a.iterationMs === b.iterationMs && a.peakBytes === b.peakBytes && layoutText(a.point) === layoutText(b.point);
}
