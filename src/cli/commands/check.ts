import { checkAnswer } from '../answers/check';
import { defineCommand } from '../command';

export const checkCommand = defineCommand({
  takes: 'PATH...',
  about: 'everything wrong in the configs of files and folders',
  options: {},
  start:
    ({ paths, sets, defaults }) =>
    (terminal, texts) =>
      checkAnswer(paths, { sets, shell: terminal.shell }, defaults, texts, terminal.status),
});
