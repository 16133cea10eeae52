import { defineCommand } from '../command';
import { configOptions } from '../common-options';

export const inspectCommand = defineCommand({
  takes: 'FILE',
  description: 'what a config sets, with the defaults of its format',
  options: configOptions,
  start: (line) => async (terminal, texts) => (await import('../answers/inspect-named')).inspectNamed(line, terminal, texts),
});
