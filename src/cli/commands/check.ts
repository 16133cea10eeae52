import { defineCommand } from '../command';
import { all, configOptions } from '../common-options';

export const checkCommand = defineCommand({
  takes: 'PATH...',
  description: 'everything wrong in the configs of files and folders',
  options: {
    ...configOptions,
    all,
    ignore: { value: 'CODES', help: 'findings not to look for, as sp-no-effect,vocab-padding' },
  },
  start: ({ paths, sets, machine, defaults }, { all: isAll, ignore = '' }) => {
    const suppression = { all: isAll === true, off: new Set(ignore.split(',').map((code) => code.trim())) };
    return async (terminal, texts) => {
      const { checkAnswer } = await import('../answers/check');
      const reading = { sets, machine, shell: terminal.shell, signal: terminal.signal, ...suppression };
      return checkAnswer(paths, reading, defaults, texts, terminal.status);
    };
  },
});
