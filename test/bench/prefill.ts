// Compares how chunks of a prompt that are run here rank with how a measured profile ranks them: `npm run bench:prefill`, 34 minutes with
// other work on two cores. A layer of hidden 512 with 8 heads on each of 4 stages, a prompt of 8,192 tokens, one CPU, on the virtual clock.
// `--quick` runs less of it, to see that it runs.
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { formatDuration, formatNumber, formatPercent } from '../../src/core/format';
import { loadConfig } from '../../src/core/config-files/load-config';
import { median } from '../../src/core/numbers';
import { makePlan } from '../../src/core/planner/make-plan';
import { planPrefill, prefillTimer, servedPrefill } from '../../src/features/prefill/core/prefill';
import { fittingDesign } from '../../src/features/rehearsal/core/design';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { forwardOnlySchedule } from '../../src/core/schedules/schedule';
import { say, sentence } from '../../src/core/sentence';
import { uniformLengths } from '../../src/core/slicing/baselines';
import type { PlanRequest } from '../../src/core/domain/request';
import { profileRequest } from '../../src/profiler/profile-run';
import { runStages } from '../../src/features/rehearsal/profiler/running';
import { bundleChild, profilerEntry } from '../unit/profiler/bundle';

const isQuick = process.argv.includes('--quick');
const prompt = isQuick ? 512 : 8192;
const stages = 4;
const unit = prompt / 32;
/** Steps of each cut, and seconds that the profile may take. */
const steps = isQuick ? 2 : 3;
const budgetMs = isQuick ? 5000 : 900_000;
const defaults = {
  gpu: 'L40S',
  nodes: null,
  gpusPerNode: null,
  reasons: { gpu: sentence``, nodes: sentence``, gpusPerNode: sentence`` },
} as const;

interface NamedChunks {
  readonly name: string;
  readonly chunks: readonly number[];
}

async function asked(): Promise<PlanRequest> {
  const config = {
    model: { layers: stages, hidden: 512, heads: 8, ffn: 2048, vocab: 512, positions: 'rotary', norm: 'layernorm', tiedEmbeddings: true },
    cluster: { gpu: 'L40S', nodes: 1, gpusPerNode: stages },
    training: {
      sequenceLength: prompt,
      microBatch: 1,
      globalBatch: 1,
      precision: 'fp32',
      attention: 'flash',
      recompute: 'none',
      dropout: false,
    },
    layout: { tensor: 1, pipeline: stages, data: 1 },
    schedule: 'TeraPipe',
    slicing: { unit },
  };
  const none = () => Promise.reject(new Error('it refers to nothing'));
  const { run } = await loadConfig('terapipe.json', JSON.stringify(config), { read: none, shell: none });
  if (run === null) throw new Error('the config has no run');
  return resolveRun(run, defaults);
}

/** Our chunks, those of our rules, those of serving engines and a few equal ones. Equal cuts become one with all their names. */
function cutsOf(request: PlanRequest): readonly NamedChunks[] {
  const found = planPrefill(request, Infinity);
  const cuts: readonly NamedChunks[] = [
    { name: 'optimum', chunks: found.chunks },
    ...found.rules.map(({ name, chunks }) => ({ name: say(name), chunks })),
    ...servedPrefill(request, null, Infinity).map(({ runtime, chunks }) => ({ name: `${runtime} at its best`, chunks })),
    ...[2, 4, 8, 16, 32].map((count) => ({ name: `${count} equal chunks`, chunks: uniformLengths(prompt, unit, count) })),
  ];
  const different = new Map<string, NamedChunks>();
  for (const cut of cuts) {
    const same = different.get(cut.chunks.join());
    different.set(cut.chunks.join(), same === undefined ? cut : { ...same, name: `${same.name}, ${cut.name}` });
  }
  return [...different.values()];
}

/** Makespans of each cut, its steps in turn with those of the others. */
async function measured(childFile: string, request: PlanRequest, cuts: readonly NamedChunks[]): Promise<readonly (readonly number[])[]> {
  const asPlanned = { layers: null, hidden: null, sequence: null, batch: null, stages: null };
  const design = fittingDesign(makePlan(request), asPlanned, Infinity);
  const all = Array.from({ length: stages }, (_, stage) => stage);
  const running = await runStages(design, [all], 1, {
    childFile,
    provider: 'cpu',
    libraryPath: [],
    onPassed: () => undefined,
    forwardOnly: true,
  });
  try {
    const took = cuts.map((): number[] => []);
    for (let step = -1; step < steps; step++)
      for (const [at, { chunks }] of cuts.entries()) {
        const { makespanMs } = await running.forward(forwardOnlySchedule(chunks, stages));
        if (step >= 0) took[at]?.push(makespanMs);
      }
    return took;
  } finally {
    await running.close();
  }
}

async function main(): Promise<void> {
  const child = await bundleChild(profilerEntry);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'prefill-'));
  try {
    const request = await asked();
    const { profile } = await profileRequest(request, {
      childFile: child.file,
      provider: 'cpu',
      libraryPath: [],
      target: folder,
      precisionFixed: true,
      gpuFixed: false,
      config: 'config.json',
      budgetMs,
      threads: 1,
      clock: () => performance.now(),
      now: () => new Date().toISOString(),
      onProgress: () => undefined,
    });
    const { errors } = profile;
    console.log(
      `profile: ${profile.samples.layer.length} cells in ${formatDuration(1000 * profile.seconds)}, forward off by ${formatNumber(errors?.forward.meanPercent ?? NaN)} % in the mean, ${formatNumber(errors?.forward.maxPercent ?? NaN)} % at worst`,
    );
    const profiled: PlanRequest = { ...request, profile: { file: 'measured here', profile } };
    const timeOf = prefillTimer(profiled);
    const cuts = cutsOf(profiled)
      .map((cut) => ({ ...cut, predictedMs: timeOf(cut.chunks) }))
      .sort((a, b) => a.predictedMs - b.predictedMs);
    const took = await measured(child.file, request, cuts);
    const ran = cuts.map((cut, at) => ({ ...cut, stepMs: took[at] ?? [], measuredMs: median(took[at] ?? []) }));
    const noise = Math.max(...ran.map(({ stepMs, measuredMs }) => (Math.max(...stepMs) - Math.min(...stepMs)) / measuredMs));
    const best = ran[0];
    for (const { name, chunks, predictedMs, measuredMs } of ran)
      console.log(
        `${formatDuration(predictedMs).padStart(8)} predicted (${formatPercent(predictedMs / (best?.predictedMs ?? 1) - 1)} slower), ${formatDuration(measuredMs).padStart(8)} measured (${formatPercent(measuredMs / (best?.measuredMs ?? 1) - 1)} slower)  ${name}: ${chunks.length < 9 ? chunks.join(', ') : `${chunks.length} chunks`}`,
      );
    let [apart, right] = [0, 0];
    for (const [at, slower] of ran.entries())
      for (const faster of ran.slice(0, at)) {
        if (Math.abs(slower.measuredMs - faster.measuredMs) <= noise * Math.min(slower.measuredMs, faster.measuredMs)) continue;
        apart += 1;
        if (faster.measuredMs < slower.measuredMs) right += 1;
      }
    console.log(
      `${apart > 0 && right === apart ? 'met ' : 'MISS'} ${right} of ${apart} pairs in the predicted order that differ by more than the noise of ${formatPercent(noise)}; ${formatDuration(performance.now())}`,
    );
  } finally {
    rmSync(folder, { recursive: true });
    await child.remove();
  }
}
void main();
