import { defineCommand } from '../command';
import { configOptions } from '../common-options';

export const checkCommand = defineCommand({
  takes: 'PATH...',
  description: 'everything wrong in the configs of files and folders',
  options: {
    ...configOptions,
    all: { help: 'print every information, not five of each file' },
    ignore: { value: 'CODES', help: 'findings not to look for, as sp-no-effect,vocab-padding' },
  },
  start: ({ paths, sets, machine, defaults }, { all, ignore = '' }) => {
    const suppression = { all: all === true, off: new Set(ignore.split(',').map((code) => code.trim())) };
    return async (terminal, texts) => {
      const { checkAnswer } = await import('../answers/check');
      const reading = { sets, machine, shell: terminal.shell, signal: terminal.signal, ...suppression };
      return checkAnswer(paths, reading, defaults, texts, terminal.status);
    };
  },
});
