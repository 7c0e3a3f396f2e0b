// Colours of code, by the ending of a file's name: comments, text, numbers and the words of a language. A line is
// looked at by itself, so what a comment of several lines contains has the colours of code.

import { h } from "./dom.js";

/** Longest line that is coloured. */
const MAX_LINE = 500;
const C_LIKE = "abstract as async await bool break case catch char class const continue default delete do double else enum export extends extern false final finally float for from func function go goto if implements import in instanceof int interface let long match mod mut namespace new nil null operator override package private protected public pub range return self short signed sizeof static struct super switch template this throw throws trait true try type typedef typeof union unsafe unsigned use using var virtual void volatile where while yield fn impl crate dyn move ref loop defer chan map select fallthrough readonly keyof never any string number boolean undefined val fun when object data sealed is";
const SCRIPT = "and as assert async await begin break case class continue def del do done elif else elsif end ensure esac except exit export False false fi finally for from function global if import in is lambda let local module nil None nonlocal not or pass raise require rescue return self set then True true try unless until when while with yield";
const SQL = "add all alter and as asc begin between by case check column commit constraint create default delete desc distinct drop else end exists foreign from full group having in index inner insert into is join key left like limit not null on or order outer primary references right rollback select set table then union unique update using values view when where with";

/** @typedef {{words: Set<string>, pattern: RegExp}} Language */

const TEXT = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/;
const NUMBER = /\b\d[\w.]*/;
const WORD = /[A-Za-z_]\w*/;

/** @param {string} words @param {RegExp} comment @returns {Language} */
function language(words, comment) {
  const parts = [comment, TEXT, NUMBER, WORD].map((of) => `(${of.source})`);
  return { words: new Set(words.split(" ").filter(Boolean)), pattern: new RegExp(parts.join("|"), "g") };
}

const cLike = language(C_LIKE, /\/\/.*|\/\*.*?(?:\*\/|$)/);
const script = language(SCRIPT, /#.*/);
const plain = language("true false null yes no on off", /#.*/);
const sql = language(`${SQL} ${SQL.toUpperCase()}`, /--.*/);
/** @type {Record<string, Language>} */
const LANGUAGES = { sql, yaml: plain, yml: plain, toml: plain, json: plain, ini: plain };
for (const end of "c cc cpp cs css cxx dart go groovy h hpp java js jsx kt kts m mjs cjs php proto rs scala scss swift ts tsx zig".split(" ")) LANGUAGES[end] = cLike;
for (const end of "bash ex exs jl lua make mk nix pl pm ps1 py r rb sh tf zsh".split(" ")) LANGUAGES[end] = script;
const NAMES = /** @type {Record<string, Language>} */ ({ Makefile: script, Dockerfile: script, Gemfile: script, Rakefile: script, Justfile: script });

/** The language of a file, or none. @param {string} path @returns {Language | null} */
export function languageOf(path) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (Object.hasOwn(NAMES, name)) return NAMES[name] ?? null;
  const end = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return Object.hasOwn(LANGUAGES, end) ? (LANGUAGES[end] ?? null) : null;
}

/** A line in colours. @param {string} line @param {Language | null} of @returns {(Node | string)[]} */
export function coloured(line, of) {
  if (!of || line.length > MAX_LINE) return [line];
  /** @type {(Node | string)[]} */
  const all = [];
  let seen = 0;
  for (const part of line.matchAll(of.pattern)) {
    const [text, comment, quoted, number] = part;
    const tone = comment ? "comment" : quoted ? "quoted" : number ? "figure" : of.words.has(text) ? "word" : "";
    if (!tone) continue;
    all.push(line.slice(seen, part.index), h("span", { class: tone }, text));
    seen = part.index + text.length;
  }
  all.push(line.slice(seen));
  return all;
}
