import { flagFact } from '../tables/located-flag';
import { factsOfTable, renamed, tableReads } from '../tables/table';
import type { ShellProgram } from '../shell/program';
import { type FindSetting, namedGpu, maxtextFacts, modelTable, otherNames, runTable } from './settings';
import { isMaxtextScript } from './recognise';

const key = (name: string): string => name.replaceAll('_', '-');
const [runFlags, modelFlags] = [renamed(runTable, key), renamed(modelTable, key)];
const known = new Set([...tableReads(runFlags), ...tableReads(modelFlags)].map(([name]) => name).concat(otherNames.map(key)));

/** MaxText's trainer, which takes `name=value` after its base.yml. */
export const maxtextProgram: ShellProgram = {
  format: 'maxtext-shell',
  isIts: isMaxtextScript,
  settings: { words: (name) => (known.has(name) ? 'one' : undefined), override: /^([A-Za-z_]\w*)=/ },
  read: (flags) => {
    const find: FindSetting = (name, read) => flagFact(flags.get(key(name)), read);
    const { facts, leftOut, remarks } = maxtextFacts(find, factsOfTable(runFlags, flags), factsOfTable(modelFlags, flags));
    return { facts, modelFiles: [], notes: remarks, ...(leftOut && { leftOut }), ...namedGpu(find) };
  },
};
