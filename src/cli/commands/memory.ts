import { memoryAnswer } from '../answers/memory';
import { defineCommand } from '../command';
import { configOptions, measured, schedule, withSchedule } from '../common-options';
import { planRun } from '../planned';
import { measuredConfig, sayDifferences } from '../../features/compare/cli/measured-config';

export const memoryCommand = defineCommand({
  takes: 'FILE',
  description: 'peak memory of every stage and what it is made of',
  options: { ...configOptions, measured, schedule },
  start: (asked, given) => async (terminal, texts) => {
    const read = await measuredConfig(withSchedule(asked, given.schedule), given.measured, terminal, texts);
    const { config, line } = read;
    sayDifferences(read, terminal);
    return memoryAnswer(planRun(config, line.defaults, [], terminal.status), texts);
  },
});
