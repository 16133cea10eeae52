import { checkAnswer } from '../answers/check';
import { defineCommand } from '../command';
import { configOptions } from '../common-options';

export const checkCommand = defineCommand({
  takes: 'PATH...',
  description: 'everything wrong in the configs of files and folders',
  options: configOptions,
  start:
    ({ paths, sets, defaults }) =>
    (terminal, texts) =>
      checkAnswer(paths, { sets, shell: terminal.shell }, defaults, texts, terminal.status),
});
