import { ExpectedError } from '../../errors';
import type { Finding, Fix, TextEdit } from '../../findings';
import { formatDuration, formatPercent } from '../../format';
import type { Run } from '../../run/run';
import { findSliceRuntime } from '../../slice-runtimes/registry';
import { chosenCandidate, type Candidate, type Plan } from '../../planner/plan';
import { findingAt } from '../../rules/settings';
import { say, sentence, type Value } from '../../sentence';
import { requireEdited, thatSet, writtenInto, type EditableFile } from '../launchers/edit-launcher';
import { plannedStep } from '../launchers/launch-settings';
import { ownSplit } from './runs';

/** A gain below this share is none. */
const least = 0.01;

/**
 * Whether the flags of a launcher's file cut sequences into slower slices than they could: at the number of slices, with the time of the
 * best split of the same flags and of solved slices. The quick fix changes those flags, read back and planned again.
 * @param editable null: without a quick fix.
 *
 * @finding slices-slower
 * The flags of a runtime of token slices cut sequences into slices that take longer than others would. The message shows the time of the
 * best split that the same flags can give; the remedy also the time of solved slices, which most runtimes take in their source
 * ([docs/slices-in-runtimes.md](slices-in-runtimes.md)). The quick fix changes the flags.
 * @example `--pipe-sp-splits 2 --pipe-sp-strategy average` of a long sequence, where 8 slices take less time.
 * @source [docs/slices-in-runtimes.md](slices-in-runtimes.md): each split is predicted as the runtime will run it.
 * @ignore you measured both, or the number of slices is what makes the step fit another GPU.
 */
export function sliceFindings(run: Run, plan: Plan | null, editable: EditableFile | null = null): readonly Finding[] {
  const { split } = plan?.request.slicing ?? {};
  if (plan === null || split === undefined || run.split === undefined) return [];
  const chosen = chosenCandidate(plan);
  const [best, solved] = (['best-split', 'solved'] as const).map((name) => betterThan(chosen, plan, name));
  if (best === undefined && solved === undefined) return [];
  const gain = ({ iterationMs }: Candidate): string => formatPercent(1 - iterationMs / chosen.iterationMs);
  const timed = (candidate: Candidate) =>
    candidate.fits && !chosen.fits
      ? sentence`${candidate.name} fit, and take ${formatDuration(candidate.iterationMs)}`
      : sentence`${candidate.name} take ${formatDuration(candidate.iterationMs)}, ${gain(candidate)} less`;
  const patched = sentence`give solved slices to the function that cuts sequences (docs/slices-in-runtimes.md)`;
  const fix = best === undefined ? null : fixFor(plan, best, editable);
  const better = best ?? solved;
  if (better === undefined) return [];
  const message = sentence`${chosen.name} take ${formatDuration(chosen.iterationMs)} a step; ${timed(better)}`;
  const more = best === undefined || solved === undefined ? '' : sentence`; or ${patched}: ${timed(solved)}`;
  const remedy = best === undefined ? patched : sentence`cut sequences into ${cutText(best)}${more}`;
  const found = findingAt(run, 'split', 'slices-slower', 'information', { message, remedy }, fix === null ? [] : [fix]);
  const { source } = run.split;
  return [source.kind === 'file' ? { ...found, place: source.place } : found];
}

function betterThan(chosen: Candidate, { candidates }: Plan, id: Candidate['id']): Candidate | undefined {
  const found = candidates.find((candidate) => candidate.id === id);
  if (found?.fits !== true) return undefined;
  return !chosen.fits || found.iterationMs < chosen.iterationMs * (1 - least) ? found : undefined;
}

/** How sequences are cut, by a candidate's name: `8 equal slices` of `Seq1F1B, 8 equal slices`. */
function cutText({ name }: Candidate): Value {
  const [cut] = typeof name === 'object' ? name.values : [];
  return cut ?? say(name).replace(/^.*?, /, '');
}

function fixFor(plan: Plan, best: Candidate, editable: EditableFile | null): Fix | null {
  const edits = editable === null ? null : editsFor(plan, best, editable);
  const title = sentence`Cut sequences into ${cutText(best)} (${formatDuration(best.iterationMs)})`;
  return edits === null ? null : { title, edits, preferred: true };
}

/** Edits of the flags that cut sequences, and of no others; null where the file has no place for them. */
function editsFor(plan: Plan, best: Candidate, editable: EditableFile): readonly TextEdit[] | null {
  const runtime = findSliceRuntime(plan.request.slicing.split?.runtime ?? '');
  if (runtime === undefined) return null;
  const split = ownSplit(plan.request, best, runtime, runtime.lengths !== null);
  if (split === null) return null;
  const ffn = plan.request.slicing.split?.ffn;
  const slicing = { unit: plan.request.slicing.unit, scheme: best.scheme, split: { ...split, ...(ffn === undefined ? {} : { ffn }) } };
  try {
    const step = plannedStep({ ...plan, request: { ...plan.request, slicing }, chosen: best.id });
    const asked = thatSet(new Set(['slicing'] as const));
    const edited = writtenInto(step.plan, editable, asked);
    if (edited.edits.length === 0 || edited.gaps.some(({ isInput }) => isInput !== true) || edited.alongside.length > 0) return null;
    requireEdited(step, edited, editable, asked);
    return edited.edits;
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}
