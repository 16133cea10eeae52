import { memoryAnswer } from '../answers/memory';
import { defineCommand } from '../command';
import { configOptions, measured, schedule, withSchedule } from '../common-options';
import { planRun } from '../planned';
import { namedConfig, runConfig, withMeasured } from '../read-config';

export const memoryCommand = defineCommand({
  takes: 'FILE',
  description: 'peak memory of every stage and what it is made of',
  options: { ...configOptions, measured, schedule },
  start: (asked, given) => async (terminal, texts) => {
    const line = await withMeasured(withSchedule(asked, given.schedule), given.measured, terminal.signal, texts);
    const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
    return memoryAnswer(planRun(config, line.defaults, [], terminal.status), texts);
  },
});
