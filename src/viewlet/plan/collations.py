"""Spark's collations: the rules by which strings are compared and ordered.

A name consists of a base (UTF8_BINARY, UTF8_LCASE, UNICODE or a locale) and modifiers (CI, AI, RTRIM). Under all
collations but UTF8_BINARY, strings with different bytes may be equal.
"""

from __future__ import annotations

_LOCALES = """
    af am ar ar_SAU as az be bg blo bn bo br bs bs_Cyrl ca ceb chr cs cy da de de_AUT dsb dz ee el en en_USA eo es et fa
    fa_AFG ff ff_Adlm fi fil fo fr fr_CAN fy ga gl gu ha haw he he_ISR hi hr hsb hu hy id id_IDN ig is it ja ka kk kk_Arab kl
    km kn ko kok ku ky lb lij lkt ln lo lt lv mk ml mn mr ms mt my nb nb_NOR ne nl nn no nso om or pa pa_Guru
    pa_Guru_IND pl ps pt ro ru sa se si sk sl smn sq sr sr_Cyrl sr_Cyrl_BIH sr_Cyrl_MNE sr_Cyrl_SRB sr_Latn
    sr_Latn_BIH sr_Latn_SRB st sv sw ta te th tk tn to tr ug uk ur uz vi wae wo xh yi yo zh zh_Hans zh_Hans_CHN
    zh_Hans_SGP zh_Hant zh_Hant_HKG zh_Hant_MAC zh_Hant_TWN zu
"""
"""The locales of all versions; `blo` and `kk_Arab` are new in Spark 4.2."""
BINARY, LCASE = "UTF8_BINARY", "UTF8_LCASE"
_BASES = {name.upper(): name for name in (BINARY, LCASE, "UNICODE", *_LOCALES.split())}
_MODIFIERS = ("CS", "CI", "AS", "AI", "RTRIM")
_KEPT = ("CI", "AI", "RTRIM")
"""In the order in which Spark names them; CS and AS are the defaults."""


def collation(name: str) -> str | None:
    """Spark's spelling of a collation's name; None if there is no such collation."""
    base, given = name.upper(), list[str]()
    while base not in _BASES:
        base, _, modifier = base.rpartition("_")
        if modifier not in _MODIFIERS or modifier in given:
            return None
        given.append(modifier)
    bytewise = base in (BINARY, LCASE)
    if {"CS", "CI"} <= set(given) or {"AS", "AI"} <= set(given) or (bytewise and set(given) - {"RTRIM"}):
        return None
    return "_".join([_BASES[base], *(m for m in _KEPT if m in given)])
