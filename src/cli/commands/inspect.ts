import { inspectAnswer } from '../answers/inspect';
import { launcherAnswer } from '../answers/inspect-launcher';
import { scheduleAnswer } from '../answers/inspect-schedule';
import { defineCommand } from '../command';
import { configOptions } from '../common-options';
import { isOnnx, namedConfig, readInto, requireRun } from '../read-config';
import { isScheduleFile } from '../walk';

export const inspectCommand = defineCommand({
  takes: 'FILE',
  description: 'what a config says, with the defaults of its format',
  options: configOptions,
  start: (line) => async (terminal, texts) => {
    const source = isOnnx(line.path) ? undefined : await readInto(texts, line.path);
    if (source !== undefined && isScheduleFile(source)) return scheduleAnswer(source);
    const config = await namedConfig(line, terminal, texts, { source });
    return config.launcher === null ? inspectAnswer(requireRun(config)) : launcherAnswer(config.launcher, config);
  },
});
