// Prints every finding of every config under a folder, one JSON object a line, in the same order each time: `npm run findings -- FOLDER >
// before.jsonl`. Run before and after a change of rules, the difference is what the change does to configs that people launch with. A
// launcher's run is judged twice: as the launcher's file, and (`as` is `terapipe`) as if a terapipe.json had the same settings, so that the
// rules about what is planned without a launcher meet as many configs.
import { ExpectedError } from '../../src/core/errors';
import { findingOfError, type Finding } from '../../src/core/findings';
import { fileStart } from '../../src/core/languages/json/document';
import { loadConfig, type LoadedConfig } from '../../src/core/config-files/load-config';
import { runFindings } from '../../src/core/rules/run-findings';
import { readReferenced } from '../../src/cli/read-file';
import { configsUnder } from '../../src/cli/walk';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { say } from '../../src/core/sentence';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('name a folder: npm run findings -- FOLDER');
process.chdir(folder);
void printFindings();

async function printFindings(): Promise<void> {
  const grammar = shellReader();
  const { configs } = await configsUnder('.');
  console.error(`${configs.length} configs`);
  for (const { file, text } of configs) {
    const print = (as: string, finding: Finding): void => console.log(JSON.stringify(lineOf(file, as, finding)));
    try {
      const config = await loadConfig(file, text, { read: readReferenced, shell: () => grammar });
      for (const [as, findings] of judged(config, file)) for (const finding of findings) print(as, finding);
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      print('unread', findingOfError(error, fileStart(file)));
    }
  }
}

function judged(
  { format, launcher, run, noRun, findings }: LoadedConfig,
  file: string,
): readonly (readonly [as: string, readonly Finding[]])[] {
  const refused = noRun === null ? [] : [findingOfError(noRun, fileStart(file))];
  if (run === null) return [[format, [...refused, ...findings]]];
  if (launcher === null) return [[format, runFindings(run, null)]];
  return [
    [format, findings],
    // a file to edit, so that fixes are shown too
    ['terapipe', runFindings({ ...run, format: 'terapipe', texts: new Map([[run.file, '{}']]) }, null)],
  ];
}

function lineOf(file: string, as: string, { code, severity, place, message, remedy, fixes }: Finding): object {
  const { start, end } = place.range;
  const texts = { message: say(message), remedy: say(remedy), fixes: fixes.map(({ title }) => say(title)) };
  return { file, as, code, severity, place: `${place.file}:${start}-${end}`, ...texts };
}
