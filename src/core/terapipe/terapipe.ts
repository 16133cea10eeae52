import type { Finding } from '../findings';
import type { Located, Place } from '../domain/located';
import type { Layout } from '../domain/request';
import type { ScheduleName, ScheduleChoices } from '../domain/schedule-names';
import type { Scheme } from '../domain/scheme';
import { clusterKeys, gpuKeys, groupKeys, linkKeys, readCluster, type GivenCluster } from './cluster-section';
import { costKeys, readCost, type GivenCost } from './cost-section';
import { elasticFields } from './elastic-section';
import type { GivenElastic } from '../run/elastic';
import { configError } from '../errors';
import {
  calibrationFields,
  latencyFields,
  layoutFields,
  intraNodeBusFields,
  peakTflopsFields,
  keepFreeRule,
  schedulesRule,
  slicingFields,
  tableFields,
  trainingFields,
  type WrittenScheme,
} from './fields';
import { readMembers, parseDocument, nodePlace, fileStart, type JsonDocument } from '../languages/json/document';
import { path } from '../domain/settings/rules';
import { settings } from '../domain/settings/table';
import type { CalibrationSettings, LocatedPartial, TrainingSettings } from '../run/given';
import { openChild, openSection, readField, readFields, type Section } from './section';
import { modelFields, type WrittenModel } from '../run/written-model';
import { sentence } from '../sentence';

/** Keys of the root of a terapipe.json. */
export const rootKeys = [
  '$schema',
  'model',
  'cluster',
  'training',
  'layout',
  'schedule',
  'schedules',
  'keepFree',
  'slicing',
  'cost',
  'calibration',
  'elastic',
] as const;

/** Every object of a terapipe.json by its path, with the keys it may have; the JSON schema is held against this. */
export const terapipeKeys: Readonly<Record<string, readonly string[]>> = {
  '': rootKeys,
  model: ['from', ...Object.keys(modelFields)],
  cluster: clusterKeys,
  'cluster.groups': groupKeys,
  'cluster.gpu': gpuKeys,
  'cluster.gpu.peakTflops': Object.keys(peakTflopsFields),
  'cluster.links': linkKeys,
  'cluster.links.intraNodeBusGBps': Object.keys(intraNodeBusFields),
  'cluster.links.allReduceLatencyUs': Object.keys(latencyFields),
  training: Object.keys(trainingFields),
  layout: Object.keys(layoutFields),
  slicing: Object.keys(slicingFields),
  cost: costKeys,
  'cost.table': Object.keys(tableFields),
  calibration: Object.keys(calibrationFields),
  elastic: Object.keys(elasticFields),
};

/** What `model` gives: another config to start from, numbers, or both (the numbers win). */
export interface GivenModel {
  readonly from?: Located<string>;
  readonly numbers: LocatedPartial<WrittenModel>;
  readonly place: Place;
}

/** One terapipe.json, its references not followed yet. */
export interface TerapipeFile {
  readonly document: JsonDocument;
  /** Its first key, for remarks on the whole run. */
  readonly place: Place;
  readonly model: GivenModel;
  readonly cluster: GivenCluster;
  readonly training: LocatedPartial<TrainingSettings>;
  readonly layout: LocatedPartial<Layout>;
  readonly schedule?: Located<ScheduleName>;
  readonly schedules?: Located<ScheduleChoices>;
  readonly keepFree?: Located<number>;
  readonly unit?: Located<number>;
  readonly scheme?: Located<Scheme>;
  readonly cost: GivenCost;
  readonly calibration: LocatedPartial<CalibrationSettings>;
  readonly elastic?: GivenElastic;
  readonly remarks: readonly Finding[];
}

/**
 * Reads a terapipe.json (JSON with comments), every value judged and located, unknown keys remarked on.
 * @throws ExpectedError as `parseDocument`, `readByRule`, `readCluster`, `readCost`; `config-model-missing` without `model`. All placed.
 */
export function readTerapipe(file: string, text: string): TerapipeFile {
  const document = parseDocument(file, text, 'jsonc');
  const remarks: Finding[] = [];
  const root = openSection(document, document.root, [], rootKeys, remarks);
  const firstKey = document.root.children?.[0]?.children?.[0];
  const place = firstKey === undefined ? fileStart(file) : nodePlace(document, firstKey);
  const schedule = readField(root, 'schedule', settings.training.schedule.key);
  const schedules = readField(root, 'schedules', schedulesRule);
  const keepFree = readField(root, 'keepFree', keepFreeRule);
  const slicing = readFields(openChild(root, 'slicing', Object.keys(slicingFields)), slicingFields);
  const model = readModel(root, place);
  const elastic = openChild(root, 'elastic', Object.keys(elasticFields));
  const cluster = readCluster(root);
  return {
    document,
    place,
    model,
    cluster,
    training: readFields(openChild(root, 'training', Object.keys(trainingFields)), trainingFields),
    layout: requireGroups(readFields(openChild(root, 'layout', Object.keys(layoutFields)), layoutFields), root),
    ...(schedule === undefined ? {} : { schedule }),
    ...(schedules === undefined ? {} : { schedules }),
    ...(keepFree === undefined ? {} : { keepFree }),
    ...(slicing.unit === undefined ? {} : { unit: slicing.unit }),
    ...(slicing.scheme === undefined ? {} : { scheme: { ...slicing.scheme, value: fromWrittenScheme(slicing.scheme.value) } }),
    cost: readCost(root),
    calibration: readFields(openChild(root, 'calibration', Object.keys(calibrationFields)), calibrationFields),
    ...(elastic === undefined ? {} : { elastic: readFields(elastic, elasticFields) }),
    remarks,
  };
}

/** Refuses stages on groups where the file has none. @throws ExpectedError `config-inconsistent`, placed. */
function requireGroups(layout: LocatedPartial<Layout>, root: Section): LocatedPartial<Layout> {
  const { stageNodeGroups } = layout;
  const cluster = root.members.get('cluster')?.value;
  const hasGroups = cluster !== undefined && readMembers(root.document, cluster, 'cluster').has('groups');
  if (stageNodeGroups === undefined || hasGroups) return layout;
  throw configError(
    'config-inconsistent',
    sentence`layout.stageNodeGroups is given, and the cluster has no groups`,
    sentence`list the kinds of nodes in cluster.groups, or remove layout.stageNodeGroups`,
    stageNodeGroups.source.kind === 'file' ? stageNodeGroups.source.place : undefined,
  );
}

/** The paper's `[[batch, [tokens, ...]], ...]` as a scheme; a third entry means that the pipeline drains after the chunk. */
export function fromWrittenScheme(written: WrittenScheme): Scheme {
  return written.map(([batch, tokens, drains]) => ({ batch, tokens, ...(drains === undefined ? {} : { endsRound: true }) }));
}

function readModel(root: Section, rootPlace: Place): GivenModel {
  const member = root.members.get('model');
  if (member === undefined)
    throw configError(
      'config-model-missing',
      sentence`terapipe.json has no model`,
      sentence`add "model": "config.json", or an object of its numbers`,
      rootPlace,
    );
  const place = nodePlace(root.document, member.value);
  if (member.value.type === 'string') {
    const from = readField(root, 'model', path);
    return { numbers: {}, place, ...(from === undefined ? {} : { from }) };
  }
  if (member.value.type !== 'object')
    throw configError(
      'config-wrong-type',
      sentence`model is neither a path nor an object`,
      sentence`write "model": "config.json" or { "layers": ... }`,
      place,
    );
  const model = openChild(root, 'model', terapipeKeys['model'] ?? []);
  const from = model === undefined ? undefined : readField(model, 'from', path);
  return { numbers: readFields<Omit<WrittenModel, 'modelType'>>(model, modelFields), place, ...(from === undefined ? {} : { from }) };
}
