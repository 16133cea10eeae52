// Prints how well rehearsals meet their predictions on this machine: `npm run bench:rehearsal`, a few minutes where nothing else runs. A
// small GPT-2 and a Llama-like model on two stages at the same time, and on eight stages on the virtual clock: five steps, and five cuts
// of the sequence. `--quick` runs less of it, to see that it runs.
import { fittingDesign, type Scale } from '../../src/features/rehearsal/core/design';
import { formatDuration, formatNumber, formatPercent } from '../../src/core/format';
import { median } from '../../src/core/numbers';
import { isRightGradient } from '../../src/features/rehearsal/core/gradient-error';
import { comparedRehearsal, type Rehearsal } from '../../src/features/rehearsal/core/result';
import { loadConfig } from '../../src/core/config-files/load-config';
import { makePlan } from '../../src/core/planner/make-plan';
import type { RankedSchemes } from '../../src/features/rehearsal/core/schemes';
import { sentence } from '../../src/core/sentence';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { rehearse, rehearseSchemes } from '../../src/features/rehearsal/profiler/run';
import { bundleChild, profilerEntry } from '../unit/profiler/bundle';

const isQuick = process.argv.includes('--quick');
const asPlanned: Scale = { layers: null, hidden: null, sequence: null, batch: null, stages: null };
/** What a step may be off by. */
const goal = 0.1;
/** Above this share of waiting for the processor a time of a real clock means little. */
const idleEnough = 0.05;
const defaults = {
  gpu: 'L40S',
  nodes: null,
  gpusPerNode: null,
  reasons: { gpu: sentence``, nodes: sentence``, gpusPerNode: sentence`` },
} as const;
/** Runs of each, of which the median counts. */
const runs = isQuick ? 1 : 5;

const gpt2 = { hidden: 256, heads: 4, ffn: 1024, vocab: 2048, positions: 'learned', norm: 'layernorm', tiedEmbeddings: true };
const llama = { hidden: 256, heads: 4, kvHeads: 2, ffn: 704, gatedMlp: true, vocab: 2048, positions: 'rotary', norm: 'rmsnorm' };
const models = { 'GPT-2': gpt2, 'Llama-like': llama };

async function designOf(model: object, stages: number, sequenceLength: number) {
  const length = sequenceLength / 4;
  const config = {
    model: { ...model, layers: stages === 2 ? 4 : 8 },
    cluster: { gpu: 'L40S', nodes: 1, gpusPerNode: stages },
    training: { sequenceLength, microBatch: 1, globalBatch: 2, precision: 'fp32', attention: 'unfused', recompute: 'none', dropout: false },
    layout: { tensor: 1, pipeline: stages, data: 1 },
    schedule: 'TeraPipe',
    slicing: { scheme: Array.from({ length: 2 }, () => [1, [length, length, length, length]]) },
  };
  const none = () => Promise.reject(new Error('it refers to nothing'));
  const { run } = await loadConfig('terapipe.json', JSON.stringify(config), { read: none, shell: none });
  if (run === null) throw new Error('the config has no run');
  return fittingDesign(makePlan(resolveRun(run, defaults)), asPlanned, Infinity);
}

const percent = (share: number): string => `${share < 0 ? '-' : '+'}${formatNumber(100 * Math.abs(share))} %`;

/** A run in a line; its error, that of the processor times where the machine had other work. */
function printStep(rehearsal: Rehearsal): { readonly error: number; readonly isDisturbed: boolean } {
  const { clock, waitedShare, othersShare, gradients } = rehearsal;
  const compared = comparedRehearsal(rehearsal);
  if (compared === null) throw new Error(rehearsal.error ?? 'nothing was measured');
  const { step, worked, profile, schedule } = compared.errors;
  const isDisturbed = clock === 'real' && (waitedShare ?? 0) > idleEnough;
  console.log(
    [
      `  ${formatDuration(compared.measured.makespanMs)} measured, ${formatDuration(compared.predicted.makespanMs)} predicted: ${percent(step)}`,
      `passes ${percent(profile)}${schedule === null ? '' : `, schedule ${percent(schedule)}`}`,
      `by processor time ${percent(worked ?? NaN)}`,
      `gradients ${isRightGradient(gradients) ? 'equal' : 'WRONG'} (${gradients?.error.toExponential(1) ?? ''})`,
      ...(isDisturbed
        ? [`DISTURBED: waited ${formatPercent(waitedShare ?? 0)}, other programs took ${formatPercent(othersShare ?? 0)} of the processor`]
        : []),
    ].join('; '),
  );
  return { error: isDisturbed ? (worked ?? step) : step, isDisturbed };
}

function printCuts({ schemes, rankCorrelation, noise, pairs, worked }: RankedSchemes): void {
  for (const { name, tokens, predictedMs, measuredMs, workedMs, gradients } of schemes)
    console.log(
      `  ${name} (${tokens.join(', ')}): ${formatDuration(predictedMs)} predicted, ${formatDuration(measuredMs)} measured, ${formatDuration(workedMs)} by processor time, gradients ${gradients?.error.toExponential(1) ?? ''}`,
    );
  const rankText = (order: RankedSchemes['worked']): string =>
    `${formatNumber(order.rankCorrelation)} with ${order.pairs.right} of ${order.pairs.apart} pairs right that differ by more than the noise of ${formatPercent(order.noise)}`;
  console.log(`  rank correlation ${rankText({ rankCorrelation, noise, pairs })}; by processor time ${rankText(worked)}`);
}

async function main(): Promise<void> {
  const child = await bundleChild(profilerEntry);
  const verdicts: string[] = [];
  try {
    for (const [name, model] of Object.entries(models))
      for (const stages of [2, 8]) {
        const clock = stages === 2 ? 'real' : 'virtual';
        const design = await designOf(model, stages, isQuick ? 128 : 512);
        const options: Parameters<typeof rehearse>[1] = {
          childFile: child.file,
          provider: 'cpu',
          libraryPath: [],
          clock,
          steps: isQuick ? 1 : 5,
          now: () => performance.now(),
          onProgress: () => undefined,
        };
        const title = `${name}, ${stages} stages, ${clock} clock`;
        console.log(`${title}, ${runs} runs of ${options.steps} steps`);
        const ran: ReturnType<typeof printStep>[] = [];
        for (let run = 0; run < runs; run++) ran.push(printStep(await rehearse(design, options)));
        const error = median(ran.map((each) => each.error));
        const how = ran.some(({ isDisturbed }) => isDisturbed) ? ', of disturbed runs by processor time' : '';
        verdicts.push(`${Math.abs(error) <= goal ? 'met ' : 'MISS'} ${title}: step ${percent(error)} (median of ${runs} runs${how})`);
        console.log(`${title}, cuts of the sequence`);
        const ranked = await rehearseSchemes(design, options);
        printCuts(ranked);
        const isDisturbed = clock === 'real' && ranked.waitedShare > idleEnough;
        const { pairs, rankCorrelation } = isDisturbed ? ranked.worked : ranked;
        const verdict = pairs.apart === 0 ? 'none' : pairs.right === pairs.apart ? 'met ' : 'MISS';
        const by = isDisturbed ? ' (disturbed: by processor time)' : '';
        verdicts.push(
          `${verdict} ${title}: ${pairs.right} of ${pairs.apart} pairs of cuts in the predicted order, rank correlation ${formatNumber(rankCorrelation)}${by}`,
        );
      }
  } finally {
    await child.remove();
  }
  console.log(`\n${verdicts.join('\n')}\n${formatDuration(performance.now())}`);
}
void main();
