import path from 'node:path';
import { ExpectedError } from '../../core/errors';
import { column, formatBytes, formatCount, formatDuration, formatNumber, formatRate, plural } from '../../core/format';
import type { ResolveDefaults } from '../../core/plan-request/scenario';
import { resolveRun } from '../../core/plan-request/resolve';
import type { Run } from '../../core/run/run';
import { parseProfile } from '../../core/measured-profile/file';
import { importTimes, importedFor } from '../../core/measured-profile/csv';
import { compareProfiles, profileMismatch } from '../../core/measured-profile/match';
import { overridden } from '../../core/domain/located';
import { isGpuGiven } from '../../core/rules/plan/memory-findings';
import type { FitError, LaunchFloor, Profile, ProviderName, Sample } from '../../core/domain/profile';
import { printable } from '../../core/text';
import { profileRequest, type ProfileRun } from '../../profiler/profile-run';
import { profilesFolder } from '../../profiler/folder';
import { readProfile, writeProfile } from '../../profiler/store';
import type { Answer } from '../answer';
import { standardInput, type SourceText } from '../read-file';
import type { Terminal } from '../terminal';
import { indented, section, table } from '../table';
import { say, sentence, type Sentence } from '../../core/sentence';

/** How a layer is measured. */
interface ProfilingOptions {
  /** Null: the first that loads, in the order of `providerNames`. */
  readonly provider: ProviderName | null;
  readonly budgetMs: number;
  /** File (`.json`) or folder; null: where profiles of the config lie. */
  readonly out: string | null;
  /** CPU threads inside an operator. */
  readonly threads: number;
}

/**
 * `terapipe profile`: measures the layer of a config and saves the profile. Progress goes to `terminal.err`.
 * @throws ExpectedError as `resolveRun` and `profileRequest`; CancelledError.
 */
export async function profileAnswer(
  run: Run,
  { provider, budgetMs, threads, out }: ProfilingOptions,
  defaults: ResolveDefaults,
  terminal: Terminal,
): Promise<Answer> {
  const request = resolveRun(withoutProfile(run), defaults);
  const done = await profileRequest(request, {
    provider,
    budgetMs,
    threads,
    childFile: terminal.profilerFile,
    libraryPath: [],
    target: out ?? profilesFolder(run.file),
    precisionFixed: run.training.precision !== undefined,
    gpuFixed: isGpuGiven(run),
    config: namedFile(run.file),
    onNotice: (notice) => {
      terminal.err(printable(`${say(notice)}: ${planCommand(run.file, out?.endsWith('.json') === true ? out : 'PROFILE', 'fp32')}`) + '\n');
    },
    signal: terminal.signal,
    clock: terminal.clock,
    now: terminal.now,
    onProgress: ({ doing, fraction }) => {
      terminal.progress(`${formatNumber(100 * fraction)} % of the budget: ${doing}`);
    },
  });
  const unserved = isGpuGiven(run)
    ? profileMismatch(done.profile, { ...request, training: { ...request.training, precision: done.profile.precision } })
    : null;
  return profiledAnswer(done, run.file, unserved);
}

function namedFile(file: string): string {
  return file === standardInput ? '-' : file;
}

/** The plan that takes a profile: a CPU's is in fp32, which plans are not by default. */
function planCommand(config: string, profile: string, precision: Profile['precision']): string {
  const set = precision === 'fp32' ? ' --set training.precision=fp32' : '';
  return `terapipe plan ${namedFile(config)} --profile ${profile}${set}`;
}

/** A profile is of the layer and the machine, whatever profile the plan uses. */
function withoutProfile(run: Run): Run {
  return { ...run, profile: overridden(null) };
}

/**
 * What `profile` prints about a profile that was measured or imported.
 * @param unserved why plans of the config do not use it, whatever their precision; null when they do.
 */
function profiledAnswer({ profile, file, saveError, refused }: ProfileRun, config: string, unserved: Sentence | null = null): Answer {
  const { status, fit, errors } = profile;
  return {
    json: {
      version: 1,
      provider: profile.provider,
      device: profile.device,
      layer: { ...profile.shape, tensor: profile.tensor, precision: profile.precision, tf32: profile.tf32, attention: profile.attention },
      launches: profile.launches,
      samples: profile.samples.layer,
      ends: { embedding: profile.samples.embedding, head: profile.samples.head },
      skipped: profile.skipped,
      fit:
        fit === null || errors === null
          ? null
          : {
              coefficients: fit,
              meanError: Math.max(errors.forward.meanPercent, errors.backward.meanPercent) / 100,
              maxError: Math.max(errors.forward.maxPercent, errors.backward.maxPercent) / 100,
              forward: shares(errors.forward),
              backward: shares(errors.backward),
            },
      profilePath: file,
      status,
      error: profile.error ?? saveError?.message ?? null,
      seconds: profile.seconds,
      twoLayerRatio: profile.twoLayerRatio,
      warnings: profile.warnings,
      refused: refused.map(({ provider, reason, remedy }) => ({ provider, reason: say(reason), remedy: say(remedy) })),
      versions: profile.versions,
    },
    text: [...profileText(profile, saveError, refused), ...(file === null ? [] : [savedText(profile, file, config, unserved)])].join(
      '\n\n',
    ),
    exitCode: status === 'complete' && saveError === null ? 0 : 1,
  };
}

/**
 * `terapipe inspect` of a profile.
 * @throws ExpectedError as `parseProfile`.
 */
export function profileFileAnswer({ file, text }: SourceText): Answer {
  return { ...profiledAnswer({ profile: parseProfile(text, file), file, saveError: null, refused: [] }, 'CONFIG'), exitCode: 0 };
}

/** Errors as shares: 0.012 is 1.2 %. */
function shares({ meanPercent, maxPercent, cells, method }: FitError): object {
  return { meanError: meanPercent / 100, maxError: maxPercent / 100, cells, method };
}

/** Where it was saved, and what to do with it. */
function savedText(profile: Profile, file: string, config: string, unserved: Sentence | null): string {
  const next =
    profile.fit === null
      ? 'Too few samples to plan with: give it a larger --budget'
      : unserved === null
        ? `Plan with it: ${planCommand(config, file, profile.precision)}`
        : `Plans of ${namedFile(config)} do not use it: ${say(unserved)}`;
  return printable(`Saved as ${file}`) + '\n' + printable(next);
}

function profileText(profile: Profile, saveError: ExpectedError | null, refused: ProfileRun['refused']): string[] {
  const { device, provider, shape, errors, samples, attention, precision } = profile;
  const facts = [
    [
      'device',
      `${device.name}${device.memoryBytes === null ? '' : `, ${formatBytes(device.memoryBytes)}`}${provider === null ? '' : `, ${provider} provider`}`,
    ],
    [
      'layer',
      `hidden ${formatCount(shape.hidden)}, ${plural(shape.heads, 'head')} of ${formatCount(shape.headDim)}, feed-forward ${formatCount(shape.ffn)}${shape.experts === null ? '' : ` x ${plural(shape.experts.count, 'expert')}`}, tensor ${formatCount(profile.tensor)}, ${precision}${profile.tf32 === true ? ' in TF32' : ''}`,
    ],
    ...(profile.tf32 === false ? [['TF32', 'off']] : []),
    ['attention', `${attention.forward} forward, ${attention.backward} backward`],
    [
      'samples',
      `${plural(samples.layer.length, 'slice')} up to ${formatCount(profile.sequenceLength)} tokens in ${formatNumber(profile.seconds)} s`,
    ],
    ...(errors === null
      ? []
      : [
          ['forward', errorText(errors.forward)],
          ['backward', errorText(errors.backward)],
        ]),
    ...(profile.launches === null ? [] : [['launches', launchText(profile.launches)]]),
    ...(profile.twoLayerRatio === null ? [] : [['two layers', `${formatNumber(profile.twoLayerRatio)} times one`]]),
  ];
  const notes = [
    ...(profile.error === null ? [] : [`stopped: ${profile.error}${samples.layer.length === 0 ? '' : '; the samples so far are kept'}`]),
    ...(saveError === null ? [] : [`not saved: ${saveError.message}; ${say(saveError.remedy)}`]),
    ...profile.warnings,
    ...profile.skipped.map(
      ({ part, tokens, context, detail }) => `skipped ${part} of ${formatCount(tokens)} tokens after ${formatCount(context)}: ${detail}`,
    ),
  ];
  return [
    printable(`${profile.title}: measured slice times`),
    indented(
      table(
        facts.map((row) => row.map(printable)),
        [1],
      ),
    ),
    indented(timesTable(profile)),
    ...section('Distrust', notes.map(printable).join('\n')),
    ...section(
      'Not used',
      refused.map(({ provider: name, reason, remedy }) => printable(`${name}: ${say(reason)}; ${say(remedy)}`)).join('\n'),
    ),
  ];
}

function launchText({ perNodeUs, perProductUs, forwardMs, backwardMs }: LaunchFloor): string {
  const each = `${formatNumber(perNodeUs)} µs a node, ${formatNumber(perProductUs)} µs a product`;
  return `${each}: ${formatDuration(forwardMs)} of each slice forward, ${formatDuration(backwardMs)} backward`;
}

function errorText({ meanPercent, maxPercent, cells, method }: FitError): string {
  const judged = method === 'hold-out' ? 'cells held out of the fit' : 'samples left out in turn';
  return `fit off by ${formatNumber(meanPercent)} % mean, ${formatNumber(maxPercent)} % worst, on ${formatCount(cells)} ${judged}`;
}

/** Whole table without context: where short slices stop paying. */
function timesTable({ samples }: Profile): string {
  const rows = samples.layer
    .filter(({ batch, context }) => batch === 1 && context === 0)
    .sort((a, b) => a.tokens - b.tokens)
    .map((sample) => [
      formatCount(sample.tokens),
      column.duration(sample.forwardMs),
      column.duration(sample.backwardMs),
      formatRate(tokensPerSecond(sample)),
    ]);
  return table([['tokens', 'forward', 'backward', 'tokens/s'], ...rows], []);
}

function tokensPerSecond({ tokens, forwardMs, backwardMs }: Sample): number {
  return (1000 * tokens) / (forwardMs + backwardMs);
}

/**
 * `terapipe profile --compare`: two profiles of one layer compared.
 * @throws ExpectedError `profile-not-comparable`, and as `readProfile`.
 */
export async function comparisonAnswer(file: string, otherFile: string): Promise<Answer> {
  const [one, other] = [await readProfile(file), await readProfile(otherFile)];
  const comparison = compareProfiles(one.profile, other.profile);
  if ('reason' in comparison)
    throw new ExpectedError(
      'profile-not-comparable',
      sentence`The profiles are of different layers: ${comparison.reason}`,
      sentence`compare profiles of one layer`,
    );
  const { ratio, byTokens } = comparison;
  const names = [one, other].map(({ file: name, profile }) => `${path.basename(name)} (${profile.device.name})`);
  return {
    json: { version: 1, files: [file, otherFile], ...comparison },
    text: [
      printable(`${names[1] ?? ''} takes ${formatNumber(ratio)} times as long as ${names[0] ?? ''}`),
      indented(table([['tokens', 'times'], ...byTokens.map((row) => [formatCount(row.tokens), formatNumber(row.ratio)])], [])),
    ].join('\n\n'),
    exitCode: 0,
  };
}

/**
 * `terapipe profile --import`: times measured elsewhere as a profile of the config's layer.
 * @throws ExpectedError as `importTimes`, placed in the CSV, and as `writeProfile`.
 */
export async function importAnswer(
  run: Run,
  { file: csv, text }: SourceText,
  defaults: ResolveDefaults,
  { device, out, now }: { readonly device: string | null; readonly out: string | null; readonly now: string },
): Promise<Answer> {
  const request = resolveRun(withoutProfile(run), defaults);
  if (device === null && request.cluster.groups !== undefined)
    throw new ExpectedError(
      'profile-device',
      sentence`The cluster has several kinds of GPUs, and the times are of one`,
      sentence`name it with --device`,
    );
  const profile = importTimes(text, csv, importedFor(request, device ?? request.cluster.gpu.name, now));
  const file = await writeProfile(out ?? profilesFolder(run.file), profile);
  return profiledAnswer({ profile, file, saveError: null, refused: [] }, run.file);
}
