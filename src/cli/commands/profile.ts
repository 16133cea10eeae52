import { availableParallelism } from 'node:os';
import { providerNames } from '../../core/domain/profile';
import { quoted } from '../../core/text';
import { parseCount, defineCommand, parseChoice, refuseBoth, usage } from '../command';
import { configOptions } from '../common-options';
import { sentence } from '../../core/sentence';

/** Seconds that measuring may take by default. */
const defaultBudgetSeconds = 300;

export const profileCommand = defineCommand({
  takes: 'FILE',
  description: "measure the config's layer on this machine with ONNX Runtime",
  options: {
    ...configOptions,
    provider: { value: 'NAME', help: 'cuda, dml, coreml, webgpu or cpu (the first that loads)' },
    budget: { value: 'SECONDS', help: `stop after this time (${defaultBudgetSeconds}); sooner when the error is under 2 %` },
    out: { value: 'PATH', help: 'a .json file, or a folder (.terapipe/profiles near FILE)' },
    threads: { value: 'N', help: 'CPU threads inside an operator (1, the steadiest)' },
    import: { value: 'TIMES.csv', help: 'take times measured elsewhere: tokens, context, forward_ms, backward_ms' },
    device: { value: 'NAME', help: 'the device of imported times (A100-80GB)' },
    compare: { value: 'PROFILE', help: 'compare FILE, a profile, with another one' },
  },
  start: (line, given) => {
    refuseBoth(given, 'import', 'compare');
    if (given.device !== undefined && given.import === undefined)
      throw usage(sentence`--device names the device of imported times`, sentence`give --import too`);
    const profiling = {
      provider: given.provider === undefined ? null : parseChoice(providerNames, given.provider, 'no provider'),
      budgetMs: parseBudgetMs(given.budget),
      out: given.out ?? null,
      threads: parseThreads(given.threads),
    };
    return async (terminal, texts) => {
      const { comparisonAnswer, importAnswer, profileAnswer } = await import('../answers/profile');
      const { namedConfig, readInto, runConfig } = await import('../read-config');
      if (given.compare !== undefined) return comparisonAnswer(line.path, given.compare);
      const { run } = await runConfig(await namedConfig(line, terminal, texts, { withProfile: false }), line, texts);
      if (given.import === undefined) return profileAnswer(run, profiling, line.defaults, terminal);
      const times = await readInto(texts, given.import);
      return importAnswer(run, times, line.defaults, { device: given.device ?? null, out: profiling.out, now: terminal.now() });
    };
  },
});

function parseBudgetMs(written: string | undefined): number {
  const seconds = written === undefined ? defaultBudgetSeconds : Number(written);
  if (seconds >= 1 && seconds <= 86_400) return 1000 * seconds;
  throw usage(sentence`--budget is ${quoted(written ?? '')}`, sentence`give it seconds from 1 to 86,400`);
}

/** Threads beyond the machine's own only wait for each other. */
function parseThreads(written: string | undefined): number {
  const threads = parseCount('--threads', written) ?? 1;
  const most = availableParallelism();
  if (threads > most)
    throw usage(sentence`--threads is ${threads}, and this machine runs ${most} at a time`, sentence`give it 1 to ${most}`);
  return threads;
}
