import {
  Checkbox,
  Dropdown,
  provideVSCodeDesignSystem,
  TextField,
  vsCodeButton,
  vsCodeCheckbox,
  vsCodeDropdown,
  vsCodeOption,
  vsCodeTextField,
} from '@vscode/webview-ui-toolkit';
import { h, icon, setAttributes, type IconName } from './dom';

/*
 * The only file that knows the webview UI toolkit. The toolkit is at its end of life: a move to another library is a change of this file.
 * Left out: badge, tag, data-grid, panels, text-area and the rings, whose templates set inline styles that a strict CSP refuses.
 */

/** Defines the toolkit's elements that the page uses; call once. */
export function registerUi(): void {
  provideVSCodeDesignSystem().register(vsCodeButton(), vsCodeCheckbox(), vsCodeDropdown(), vsCodeOption(), vsCodeTextField());
}

interface ButtonOptions {
  readonly label: string;
  readonly appearance?: 'primary' | 'secondary';
  readonly onClick: () => void;
  /** Keeps the focus over a redraw: see `fill`. */
  readonly focusKey?: string;
}

/** A push button with a text. */
export function button({ label, appearance = 'primary', onClick, focusKey }: ButtonOptions): HTMLElement {
  const element = document.createElement('vscode-button');
  setAttributes(element, { appearance, 'data-focus': focusKey ?? label });
  element.textContent = label;
  element.addEventListener('click', onClick);
  return element;
}

interface IconButtonOptions {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
}

/** A button that shows only an icon; the label is its accessible name and tooltip. */
export function iconButton({ icon: name, label, onClick }: IconButtonOptions): HTMLElement {
  const element = document.createElement('vscode-button');
  setAttributes(element, { appearance: 'icon', 'aria-label': label, title: label, 'data-focus': label });
  element.append(icon(name));
  element.addEventListener('click', onClick);
  return element;
}

/** Shows an icon button as switched on or off. */
export function setPressed(element: HTMLElement, pressed: boolean): void {
  element.classList.toggle('pressed', pressed);
  element.setAttribute('aria-pressed', String(pressed));
}

/** One choice of a dropdown. */
export interface Choice {
  readonly value: string;
  readonly text: string;
  readonly title?: string;
  /** Shown, but not to be chosen; the title explains why. */
  readonly disabled?: boolean;
}

/** A dropdown that is filled and set by `show`. */
export interface DropdownControl {
  readonly element: HTMLElement;
  readonly show: (choices: readonly Choice[], value: string) => void;
}

/** A dropdown with an accessible name; `onChange` hears only of what the person picks. */
export function dropdown(label: string, onChange: (value: string) => void): DropdownControl {
  const element = document.createElement('vscode-dropdown');
  setAttributes(element, { 'aria-label': label, title: label });
  let shown = '';
  element.addEventListener('change', () => {
    if (element instanceof Dropdown && element.value !== shown) onChange((shown = element.value));
  });
  return {
    element,
    show: (choices, value) => {
      const wanted = JSON.stringify(choices);
      if (element.dataset['choices'] !== wanted) {
        element.dataset['choices'] = wanted;
        element.replaceChildren(
          ...choices.map((choice) => {
            const option = document.createElement('vscode-option');
            setAttributes(option, {
              value: choice.value,
              selected: choice.value === value,
              title: choice.title ?? null,
              disabled: choice.disabled === true,
            });
            option.textContent = choice.text;
            return option;
          }),
        );
      }
      shown = value;
      if (element instanceof Dropdown) requestAnimationFrame(() => (element.value = value));
    },
  };
}

/** A dropdown under its name. */
export function labelled(label: string, { element }: DropdownControl): HTMLElement {
  return h('div', { class: 'control' }, h('span', { class: 'control-label', 'aria-hidden': 'true' }, label), element);
}

/** A text field that reports each change; Enter submits, with Shift backwards, Escape leaves. */
export function findField(
  label: string,
  {
    onType,
    onSubmit,
    onLeave,
  }: { readonly onType: (text: string) => void; readonly onSubmit: (direction: 1 | -1) => void; readonly onLeave: () => void },
): HTMLElement {
  const element = namedField(label, label);
  element.addEventListener('keydown', (event) => {
    event.stopPropagation();
    if (event.key === 'Enter') onSubmit(event.shiftKey ? -1 : 1);
    if (event.key === 'Escape') onLeave();
  });
  element.addEventListener('input', () => {
    if (element instanceof TextField) onType(element.value);
  });
  return element;
}

/** A text field that reports each change as it is typed; Escape empties it. */
export function filterField(
  label: string,
  placeholder: string,
  onType: (text: string) => void,
): { readonly element: HTMLElement; readonly show: (text: string) => void } {
  const element = namedField(label, placeholder);
  const value = (): string => (element instanceof TextField ? element.value : '');
  const show = (text: string): void => {
    if (element instanceof TextField && element.value !== text) element.value = text;
  };
  element.addEventListener('input', () => onType(value()));
  element.addEventListener('keydown', (event) => {
    event.stopPropagation();
    if (event.key !== 'Escape' || value() === '') return;
    show('');
    onType('');
  });
  return { element, show };
}

/** The toolkit names a field only by its content, which `base.css` hides. */
function namedField(label: string, placeholder: string): HTMLElement {
  const element = document.createElement('vscode-text-field');
  setAttributes(element, { placeholder });
  element.textContent = label;
  return element;
}

/** A labelled check box that is set by its `checked` property through `setChecked`. */
export function checkbox(label: string, onChange: (checked: boolean) => void): HTMLElement {
  const element = document.createElement('vscode-checkbox');
  element.textContent = label;
  element.addEventListener('change', () => {
    if (element instanceof Checkbox) onChange(element.checked);
  });
  return element;
}

/** Sets a check box without notifying its listener. */
export function setChecked(element: HTMLElement, checked: boolean): void {
  if (element instanceof Checkbox && element.checked !== checked) element.checked = checked;
}

/** Whether a key typed at the target belongs to a control at the target: text, a choice, a menu, a dialog. */
export function takesLetters(target: EventTarget | null): boolean {
  if (target instanceof Dropdown || target instanceof TextField) return true;
  return target instanceof Element && target.closest('input, textarea, select, dialog, [role=menu]') !== null;
}
