import { orList } from '../../core/text';
import { exportAnswer } from '../answers/export';
import { defineCommand, oneOf, usage } from '../command';
import { configOptions, measured, schedule, withSchedule } from '../common-options';
import { exportFormatOf, exportNames } from '../export-formats';
import { planNearby } from '../planned';
import { namedConfig, runConfig, withMeasured } from '../read-config';
import { sentence } from '../../core/sentence';

const longestName = Math.max(...exportNames.map((name) => name.length));

export const exportCommand = defineCommand({
  takes: 'FILE',
  description: "the plan as a launcher's file, as changes to yours, as a report, or its schedule: PyTorch's CSV, a trace, a picture",
  options: {
    ...configOptions,
    measured,
    to: { value: 'FORMAT', help: exportNames.map((name) => `${`${name}:`.padEnd(longestName + 2)}${exportFormatOf(name).description}`) },
    schedule,
    candidate: { value: 'NAME', help: 'write this candidate of the plan, not the one it chose' },
    into: {
      value: 'EXISTING',
      help: "change this launcher's file instead: prints the difference, which patch -p0 takes; comments and layout of the file are kept",
    },
    out: { value: 'PATH', help: 'write to a file that is not there yet, instead of printing' },
    write: { help: 'with --into, change EXISTING itself; with --out, replace PATH' },
  },
  start: (line, { to: format, schedule: named, candidate = null, into = null, out = null, write = false, measured: step }) => {
    const to = format === undefined ? null : oneOf(exportNames, format, 'nothing to export to');
    if (to === null && into === null) throw usage(sentence`export needs a format`, sentence`give --to ${orList(exportNames)}`);
    if (into === '-') throw usage(sentence`--into takes a file, not standard input`, sentence`name the file`);
    if (write && into === null && out === null)
      throw usage(sentence`--write needs something to write to`, sentence`give --into or --out too`);
    const planned = withSchedule(line, named);
    return async (terminal, texts) => {
      const asked = await withMeasured(planned, step, terminal.signal, texts);
      const config = await runConfig(await namedConfig(asked, terminal, texts), asked, texts);
      const plan = await planNearby(config, asked.defaults, terminal.status);
      return exportAnswer(plan, { to, candidate, into, out, write }, { shell: terminal.shell, err: terminal.err, texts });
    };
  },
});
