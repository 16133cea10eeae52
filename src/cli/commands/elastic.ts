import { elasticAnswer } from '../answers/elastic';
import { defineCommand } from '../command';
import { configOptions } from '../common-options';
import { namedConfig, runConfig } from '../read-config';

export const elasticCommand = defineCommand({
  takes: 'FILE',
  description: 'a run that freezes layers: pipelines, replicas and time of every epoch',
  options: configOptions,
  start: (line) => async (terminal, texts) => {
    const { run } = await runConfig(await namedConfig(line, terminal, texts), line, texts);
    return elasticAnswer(run, line.defaults, texts);
  },
});
