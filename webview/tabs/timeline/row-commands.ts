import type { StageNode } from '../../../src/core/cluster/rank-groups';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { stageText } from '../../charts/lanes/labels';
import { nodeName } from '../../charts/lanes/row-names';
import { areCollapsed, isCollapsed, toggleNode, toggleNodes, timelineRows, togglePin, type RowSettings } from '../../charts/lanes/rows';
import type { ShownTimeline } from './shown';

/** What a person does with the rows of a timeline. */
export interface RowCommands {
  /** Makes a node one row, or its stages a row each. */
  readonly toggleNode: (node: StageNode) => void;
  /** The same, of the node of a stage. */
  readonly toggleStageNode: (stage: number) => void;
  readonly toggleNodes: () => void;
  readonly togglePin: (stage: number) => void;
  /** Shows the row of a stage that a collapsed node hides. */
  readonly openStage: (stage: number) => void;
}

/** Makes them; `say` announces to a screen reader. */
export function rowCommands(store: Store, timeline: ShownTimeline, say: (text: string) => void): RowCommands {
  const setRows = (rows: RowSettings): void => store.set(timelineRows, rows);
  const toggle = (node: StageNode): void => {
    const rows = toggleNode(store.get(timelineRows), node.node);
    setRows(rows);
    say(isCollapsed(rows, node.node) ? t('{0}, collapsed', nodeName(node)) : t('{0}, expanded', nodeName(node)));
  };
  return {
    toggleNode: toggle,
    toggleStageNode: (stage) => {
      const node = timeline.nodes().find(({ stages }) => stages.includes(stage));
      if (node === undefined) say(t('No other stage is on the node of stage {0}', stage));
      else toggle(node);
    },
    toggleNodes: () => {
      const nodes = timeline.nodes();
      if (nodes.length === 0) {
        say(t('No node holds several stages'));
        return;
      }
      const rows = toggleNodes(store.get(timelineRows), nodes);
      setRows(rows);
      say(areCollapsed(rows, nodes) ? t('A row for each node') : t('A row for each stage'));
    },
    togglePin: (stage) => {
      const of = timeline.operations();
      if (of === null) return;
      const rows = togglePin(store.get(timelineRows), stage);
      setRows(rows);
      const name = stageText(of, stage);
      say(rows.pinned.includes(stage) ? t('{0}, pinned', name) : t('{0}, not pinned', name));
    },
    openStage: (stage) => {
      const list = timeline.rows();
      const row = list.rows[list.laneRow(stage)];
      if (row?.collapsed === true && row.node !== null) setRows(toggleNode(store.get(timelineRows), row.node.node));
    },
  };
}
