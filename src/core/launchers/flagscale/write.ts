import type { FactName, LauncherFile } from '../../run/facts';
import type { YamlDocument } from '../../languages/yaml/document';
import { sentence } from '../../sentence';
import { megatronSettings } from '../megatron/plan-settings';
import { argumentNames } from '../megatron/written-keys';
import type { Editor } from '../writing/editor';
import type { KeyNames } from '../writing/key-names';
import { yamlSyntax } from '../writing/yaml-syntax';

const syntax = yamlSyntax({ keys: flagScaleKeys, precisionSwitch: (document, name) => [...trainSection(document), 'system', name] });

/** FlagScale's tasks, and files of their group `train`. */
export const flagScaleEditor: Editor = {
  settings: (plan, { traits }) => megatronSettings(plan, traits),
  syntax: { ...syntax, edit: (launcher, edit) => (isHeterogeneous(launcher) ? [] : syntax.edit(launcher, edit)) },
  refuses: (launcher) =>
    isHeterogeneous(launcher) ? sentence`Kinds of devices have lists of their own in this file, which no layout is written into` : null,
};

/** Whether kinds of devices have sizes and layers of their own, in lists that no plan of one layout has. */
function isHeterogeneous({ facts: { pipelineLayout } }: LauncherFile): boolean {
  return pipelineLayout?.name?.includes('hetero') === true;
}

/** A task has its training in a section; a file of the group `train` is that section. */
function trainSection({ root }: YamlDocument): readonly string[] {
  return root.entries.has('experiment') ? ['train'] : [];
}

const inModel: readonly FactName[] = ['layers', 'sequenceLength', 'maxPositions', 'microBatch', 'globalBatch'];

function flagScaleKeys(document: YamlDocument): KeyNames {
  const train = [...trainSection(document), ''].join('.');
  const named = Object.entries(argumentNames) as [FactName, readonly string[]][];
  return {
    ...Object.fromEntries(
      named.map(([fact, names]) => [fact, names.map((name) => `${train}${inModel.includes(fact) ? 'model' : 'system'}.${name}`)]),
    ),
    ...(train === '' ? {} : { nodes: ['experiment.runner.nnodes'], gpusPerNode: ['experiment.runner.nproc_per_node'] }),
  };
}
