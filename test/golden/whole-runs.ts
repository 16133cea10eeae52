import { goodput, dalyInterval } from '../../src/features/days/core/failures';
import { checkpointBytes, usualRestart, usualStorage } from '../../src/features/days/core/whole-run';
import { gpt, llama3, request } from './requests';

/** A published run: docs/model/run.md, Published runs. */
interface PublishedRun {
  readonly name: string;
  readonly model: ReturnType<typeof gpt>;
  readonly gpus: number;
  readonly days: number;
  /** Interruptions that stop the run. */
  readonly failures: number;
  /** Minutes between checkpoints; null: not published, the best is taken. */
  readonly everyMinutes: number | null;
  readonly goodput: number;
  readonly note: string;
}

const tokensPerBloomStep = 2048 * 2048;

const runs: readonly PublishedRun[] = [
  {
    name: 'Llama 3 405B',
    model: llama3('405b', 126),
    gpus: 16_384,
    days: 54,
    failures: 419 + 47,
    everyMinutes: null,
    goodput: 0.9,
    note: 'published: more than 90 %',
  },
  {
    name: 'BLOOM 176B',
    model: gpt(70, 14_336, 112, 250_680),
    gpus: 384,
    days: 1_082_990 / 416 / 24,
    failures: (1.5 / 7) * (1_082_990 / 416 / 24),
    everyMinutes: 180,
    goodput: ((366e9 / tokensPerBloomStep) * 105) / 3600 / (1_082_990 / 416),
    note: 'not stated: steps of about 105 s over the hours of 416 reserved GPUs; of 384 used ones it is 90 %',
  },
  {
    name: 'OPT-175B',
    model: gpt(96, 12_288, 96, 50_272),
    gpus: 992,
    days: 62,
    failures: 35 + 70,
    everyMinutes: null,
    goodput: 33 / 62,
    note: 'facts too thin: divergence and repairs by hand are in the published days',
  },
];

/** Goodput of published runs, and ours from their failures. */
export function wholeRunRows() {
  return runs.map(({ name, model, gpus, days, failures, everyMinutes, goodput: measured, note }) => {
    const bytes = checkpointBytes(request('A100-80GB', model, { training: {}, layout: {} }));
    const betweenSeconds = (86_400 * days) / failures;
    const saveSeconds = bytes / (usualStorage.usual * 1e9 * (gpus / 8));
    const interval = everyMinutes === null ? dalyInterval({ betweenSeconds, saveSeconds }) : 60 * everyMinutes;
    const predicted = goodput({ betweenSeconds, saveSeconds, restartSeconds: 60 * usualRestart.usual }, interval);
    return { name, bytes, hoursBetween: betweenSeconds / 3600, saveSeconds, minutes: interval / 60, measured, predicted, note };
  });
}
