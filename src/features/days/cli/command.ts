import { parseAmount, parseBandwidth } from '../../../core/amounts';
import { sentence } from '../../../core/sentence';
import { quoted } from '../../../core/text';
import { defineCommand, usage } from '../../../cli/command';
import { configOptions, ofWholeRun } from '../../../cli/common-options';
import { exactly } from '../core/run-of-plans';
import { usualFailures, usualRestart, usualStorage, type Ranged } from '../core/whole-run';

const { tokens, price } = ofWholeRun;

export const daysCommand = defineCommand({
  takes: 'FILE',
  description: 'days, energy and cost of a whole run, with failures, checkpoints and restarts',
  options: {
    ...configOptions,
    tokens,
    price,
    phase: {
      value: 'N:KEY=V,...',
      help: 'tokens that are trained with other settings first, for ramps of batch and sequence: 250M:training.globalBatch=512; repeatable, in order',
    },
    failures: { value: 'N', help: 'failures that stop the run, for 1,000 GPU-days (0.47; published: 0.37 to 1.8)' },
    restart: { value: 'MIN', help: 'minutes from a failure to the first step after it (11; 5.5 to 33)' },
    storage: { value: 'RATE', help: 'rate at which all nodes together write a checkpoint, as 50GB/s (1 GB/s a node; 0.5 to 2)' },
    every: { value: 'MIN', help: 'minutes of training between checkpoints (the interval that loses least)' },
    overhead: { value: 'N', help: 'energy of the whole data centre over that of its GPUs (1)' },
  },
  start: (asked, given) => {
    const number = (option: 'failures' | 'restart' | 'every' | 'overhead'): number | null => {
      const written = given[option];
      if (written === undefined) return null;
      const value = parseAmount(written, 'decimal');
      if (value !== null && value > 0 && value <= 1e6) return value;
      throw usage(sentence`--${option} is ${quoted(written)}`, sentence`give it a number above 0`);
    };
    const rate = given.storage === undefined ? null : parseBandwidth(given.storage);
    if (given.storage !== undefined && rate === null)
      throw usage(sentence`--storage is ${quoted(given.storage)}`, sentence`give it a rate with its unit, as 50GB/s`);
    const exact = (value: number | null, usual: Ranged): Ranged => (value === null ? usual : exactly(value));
    const conditions = {
      failures: exact(number('failures'), usualFailures),
      restartMinutes: exact(number('restart'), usualRestart),
      totalStorage: rate,
      storage: usualStorage,
      price: null,
      intervalMinutes: number('every'),
      overhead: number('overhead') ?? 1,
    };
    const phases = asked.options.flatMap(({ name, value }) => (name === 'phase' && value !== undefined ? [parsePhase(value)] : []));
    const sets = [
      ...(given.tokens === undefined ? [] : [`training.tokens=${given.tokens}`]),
      ...(given.price === undefined ? [] : [`cluster.pricePerGpuHour=${given.price}`]),
    ];
    const line = { ...asked, sets: [...asked.sets, ...sets] };
    return async (terminal, texts) => (await import('./answer')).daysAnswer(line, { phases, conditions }, terminal, texts);
  },
});

/** Tokens and the settings with which they are trained. @throws ExpectedError `usage`. */
function parsePhase(written: string): { readonly tokens: number; readonly sets: readonly string[] } {
  const colon = written.indexOf(':');
  const tokens = colon < 1 ? null : parseAmount(written.slice(0, colon), 'decimal');
  if (tokens !== null && tokens > 0) return { tokens, sets: written.slice(colon + 1).split(',') };
  throw usage(sentence`--phase is ${quoted(written)}`, sentence`give it tokens and settings, as 250M:training.globalBatch=512`);
}
