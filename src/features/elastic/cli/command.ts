import { sentence } from '../../../core/sentence';
import { defineCommand, usage } from '../../../cli/command';
import { configOptions } from '../../../cli/common-options';

export const elasticCommand = defineCommand({
  takes: 'FILE',
  description: 'a run that freezes layers: pipelines, replicas and time of every epoch',
  options: {
    ...configOptions,
    report: { value: 'PATH', help: 'write a report in one page (HTML) to a new file' },
    write: { help: 'with --report, replace PATH' },
  },
  start: (line, { report: file = null, write = false }) => {
    if (write && file === null) throw usage(sentence`--write needs something to write to`, sentence`give --report too`);
    return async (terminal, texts) => {
      const { elasticAnswer } = await import('./answer');
      const { namedConfig, runConfig } = await import('../../../cli/read-config');
      const { judgedFindings } = await import('../../../core/export/planned-config');
      const { printedFinding } = await import('../../../cli/answer');
      const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
      const { run } = config;
      const judged = file === null ? [] : judgedFindings(config, run, null);
      const findings = judged.map((finding) => printedFinding(finding, texts));
      return elasticAnswer(run, line.defaults, texts, file === null ? null : { file, write, findings });
    };
  },
});
