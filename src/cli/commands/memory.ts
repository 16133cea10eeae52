import { defineCommand } from '../command';
import { writeSnapshot } from '../../features/oom/cli/command';
import { configOptions, measured, schedule, withSchedule } from '../common-options';

export const memoryCommand = defineCommand({
  takes: 'FILE',
  description: 'peak memory of every stage and what it is made of',
  options: { ...configOptions, measured, schedule, 'write-snapshot': writeSnapshot },
  start: (asked, given) => async (terminal, texts) => {
    const { memoryAnswer } = await import('../answers/memory');
    const { planRun } = await import('../../core/export/planned-config');
    const { measuredConfig, sayDifferences } = await import('../../features/compare/cli/measured-config');
    const read = await measuredConfig(withSchedule(asked, given.schedule), given.measured, terminal, texts);
    const { config, line } = read;
    sayDifferences(read, terminal);
    const planned = planRun(config, line.defaults, { progress: terminal.status, isCompared: false });
    const out = given['write-snapshot'];
    if (out !== undefined) {
      const { predictedSnapshot } = await import('../../features/oom/core/predicted-snapshot');
      const { writeOut } = await import('../write-file');
      await writeOut(out, predictedSnapshot(planned.plan), 'never');
    }
    return memoryAnswer(planned, texts);
  },
});
