import { parseAmount } from '../../../core/amounts';
import { sentence } from '../../../core/sentence';
import { quoted } from '../../../core/text';
import { defineCommand, usage } from '../../../cli/command';
import { all, configOptions, refuseSet } from '../../../cli/common-options';
import { free, parseFreeKeys, schedules, withSchedules } from '../../../cli/search-options';

const { set, model, gpus, network } = configOptions;

export const whereCommand = defineCommand({
  takes: 'FILE',
  description: 'the best layout on each of several GPUs and cloud machine types, with time, cost and fit',
  options: {
    set,
    model,
    gpus,
    network,
    on: {
      value: 'NAME[:N],...',
      help: 'GPUs or machine types of clouds, each with its number of GPUs (H100-80GB:64,p5.48xlarge:64); else the usual GPUs of servers, as many as FILE or --gpus gives, or the fewest on which the model fits',
    },
    prices: {
      value: 'LIST',
      help: 'prices of an hour: NAME=N,... or the path of a JSON object; of one GPU, or of a node of a machine type',
    },
    tokens: { value: 'N', help: 'tokens that the whole run trains on (15.6e12, 15T), for days and cost (training.tokens)' },
    budget: { value: 'N', help: 'most that the run may cost, in the currency of the prices' },
    days: { value: 'N', help: 'most days that the run may take' },
    free,
    schedules,
    all,
  },
  start: (plainLine, given) => {
    const amount = (option: 'tokens' | 'budget' | 'days', example: string): number | null => {
      const written = given[option];
      if (written === undefined) return null;
      const number = parseAmount(written, 'decimal');
      if (number !== null && number > 0 && number <= 1e18) return number;
      throw usage(sentence`--${option} is ${quoted(written)}`, sentence`give it a number above 0, as ${example}`);
    };
    const tokens = amount('tokens', '15T');
    const asked = {
      on: given.on ?? null,
      prices: given.prices ?? null,
      budget: amount('budget', '250k'),
      days: amount('days', '30'),
      free: given.free === undefined ? null : parseFreeKeys(given.free),
      isAll: given.all === true,
    };
    refuseSet('tokens', given.tokens, ['training.tokens'], plainLine.sets);
    const spaced = withSchedules(plainLine, given.schedules);
    const line = tokens === null ? spaced : { ...spaced, sets: [...spaced.sets, `training.tokens=${tokens}`] };
    return async (terminal, texts) => (await import('./answer')).whereAnswer(line, asked, terminal, texts);
  },
});
