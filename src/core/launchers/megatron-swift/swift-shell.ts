import { ownLayer } from '../../languages/layers';
import type { ShellProgram } from '../shell/program';
import { settingsOfFlags } from '../tables/written-settings';
import { swiftAdapters, swiftFacts, swiftNotes, swiftWords } from './arguments';
import { swiftProcesses } from './environment';
import { isMegatronSwiftScript } from './recognise';

/** ms-swift's command `megatron`, which takes arguments of Megatron Core and of its own with underscores. */
export const megatronSwiftProgram: ShellProgram = {
  format: 'megatron-swift',
  isIts: isMegatronSwiftScript,
  settings: { words: swiftWords },
  read: (flags, layers) => {
    const facts = { ...swiftProcesses(ownLayer(layers)), ...swiftFacts(flags) };
    return {
      facts,
      modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
      notes: swiftNotes(flags),
      written: { names: 'megatron', settings: settingsOfFlags(flags.values(), (key) => swiftWords(key) !== undefined) },
      ...swiftAdapters(flags),
    };
  },
};
