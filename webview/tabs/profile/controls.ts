import type { ProfilePart } from '../../../src/core/domain/profile';
import type { PageState } from '../../../src/protocol/page';
import { h } from '../../base/dom';
import { t } from '../../base/strings';
import type { Store } from '../../base/store';
import { dropdown, type DropdownControl } from '../../base/ui';
import { makeProfileButton, otherWays, restrictedHint } from './actions';
import { comparable, comparedProfile, pickedProfile, profileChoices, profilePart, profileParts, type ShownProfile } from './shown';

/** The row above the charts: which profile, compared with which other, which part; and the buttons that make more. */
interface Controls {
  readonly element: HTMLElement;
  readonly update: (state: PageState, shown: ShownProfile) => void;
}

const nothing = '';

/** Makes the row. What cannot be chosen is left out. */
export function makeControls(store: Store): Controls {
  const profile = labelled(
    t('Profile'),
    dropdown(t('Profile'), (file) => store.set(pickedProfile, file)),
  );
  const compare = labelled(
    t('Compare with'),
    dropdown(t('Compare with profile'), (file) => store.set(comparedProfile, file === nothing ? null : file)),
  );
  const part = labelled(
    t('Part'),
    dropdown(t('Part'), (value) => store.set(profilePart, profileParts.find((known) => known === value) ?? 'layer')),
  );
  const start = makeProfileButton(store.host, 'secondary');
  const ways = otherWays(store.host);
  const actions = h('div', { class: 'profile-actions' }, ways.element, start.element);
  const hint = restrictedHint();
  const element = h(
    'div',
    { class: 'profile-controls' },
    h('div', { class: 'profile-choices' }, profile.element, compare.element, part.element),
    actions,
    hint,
  );
  const update = ({ profile: state = null, trusted }: PageState, shown: ShownProfile): void => {
    if (state === null) return;
    const { known } = shown;
    const isMeasuring = known === null;
    const others = known === null ? [] : comparable(state, known);
    profile.element.hidden = isMeasuring || state.known.length < 2;
    compare.element.hidden = others.length === 0;
    const parts = profileParts.filter((name) => shown.profile.samples[name].length > 0);
    part.element.hidden = parts.length < 2;
    if (known !== null) profile.dropdown.show(profileChoices(state.known), known.file);
    compare.dropdown.show([{ value: nothing, text: t('Nothing') }, ...profileChoices(others)], shown.compared?.file ?? nothing);
    part.dropdown.show(
      parts.map((name) => ({ value: name, text: partText(name) })),
      shown.part,
    );
    actions.hidden = isMeasuring;
    hint.hidden = isMeasuring || trusted;
    start.update(trusted);
    ways.update(trusted);
  };
  return { element, update };
}

function partText(part: ProfilePart): string {
  return { layer: t('One layer'), embedding: t('Embedding'), head: t('Head and loss') }[part];
}

function labelled(label: string, control: DropdownControl): { readonly element: HTMLElement; readonly dropdown: DropdownControl } {
  const element = h('div', { class: 'control' }, h('span', { class: 'control-label', 'aria-hidden': 'true' }, label), control.element);
  return { element, dropdown: control };
}
