import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml } from '../../languages/yaml/document';
import type { LauncherFile } from '../../run/facts';
import { createKeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { namedGpu, maxtextFacts, modelTable, runTable } from './settings';

/**
 * A YAML of MaxText: the sizes of a model (`configs/models`), or settings of a run over base.yml with the model that it names.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readMaxtext(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const { facts, leftOut, remarks } = maxtextFacts(reader.one, reader.facts(runTable), reader.facts(modelTable));
  const base = launcherFile(document, 'maxtext', facts, reader);
  return { ...base, remarks: [...base.remarks, ...remarks], ...(leftOut && { leftOut }), ...namedGpu(reader.one) };
}
