import { sentence } from '../../../core/sentence';
import { printedFinding } from '../../../cli/answer';
import { elasticAnswer } from './answer';
import { defineCommand, usage } from '../../../cli/command';
import { configOptions } from '../../../cli/common-options';
import { judgedFindings } from '../../../cli/planned';
import { namedConfig, runConfig } from '../../../cli/read-config';

export const elasticCommand = defineCommand({
  takes: 'FILE',
  description: 'a run that freezes layers: pipelines, replicas and time of every epoch',
  options: {
    ...configOptions,
    report: { value: 'PATH', help: 'write a report in one page (HTML) to a file that is not there yet' },
    write: { help: 'with --report, replace PATH' },
  },
  start: (line, { report: file = null, write = false }) => {
    if (write && file === null) throw usage(sentence`--write needs something to write to`, sentence`give --report too`);
    return async (terminal, texts) => {
      const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
      const { run } = config;
      const told = file === null ? [] : judgedFindings(config, run, null);
      const findings = told.map((finding) => printedFinding(finding, texts));
      return elasticAnswer(run, line.defaults, texts, file === null ? null : { file, write, findings });
    };
  },
});
