#!/bin/sh
# Experts from every layout to every other: not a byte of a tensor changes.
. "${srcdir:-.}/tests/cli/lib.sh"
py="python3 $(cd "$srcdir" && pwd)/tests/cli/packs.py"
command -v python3 >/dev/null || skip "no python3"

tb() {
	"$TBTUI" -s "$T/store" -d "$T/index.db" "$@"
}

# where LAYOUT KIND: the destination as tbtui takes it, and as packs.py does
where() {
	case $1 in
	store-*) echo "$2-$1" ;;
	dir-*) echo "$T/$2-$1" ;;
	file-*) echo "$T/$2-$1.safetensors" ;;
	esac
}
place() {
	case $1 in
	store-*) echo "$T/store#$2-$1" ;;
	*) where "$1" "$2" ;;
	esac
}

# What the layouts are called, and how one asks for them.
asked() {
	case $1 in
	*-each) echo unpack ;;
	*-packed) echo unpack --shared packed ;;
	*-apart) echo unpack --shared apart ;;
	*-stacked) echo pack ;;
	*-projection) echo pack --experts per-projection ;;
	*-switch) echo pack --experts switch-mlp --shared packed ;;
	esac
}
layouts='store-each store-apart store-stacked store-projection store-switch
	dir-each dir-stacked file-each file-stacked file-switch'

mkdir -p "$T/store/blobs" "$T/store/manifests"
$py make "$T/usual" usual || fail "no source"
$py make "$T/mixtral" mixtral || fail "no source"
expect 0 tb quantize "$T/usual" "$T/quant" -q nvfp4 --policy uniform
expect 0 tb quantize "$T/usual" "$T/quant4" -q int4 --policy uniform

for kind in usual mixtral quant quant4; do
	$py list "$T/$kind" >"$T/want" || fail "$kind cannot be read"
	for to in $layouts; do
		# shellcheck disable=SC2046
		expect 0 tb $(asked "$to") "$T/$kind" "$(where "$to" "$kind")"
		$py list "$(place "$to" "$kind")" >"$T/got" || fail "$kind $to cannot be read"
		cmp -s "$T/want" "$T/got" || { diff "$T/want" "$T/got" | head -4 >&2; fail "$kind to $to"; }
	done
done
for kind in mixtral quant4; do
	case $kind in
	mixtral) some='dir-each store-projection' tos='store-stacked dir-stacked file-each dir-each' ;;
	*) some='store-apart store-switch dir-stacked file-each' tos=$layouts ;;
	esac
	$py list "$T/$kind" >"$T/want"
	for from in $some; do
		for to in $tos; do
			rm -rf "$T/made" "$T/made.safetensors"
			case $to in
			store-*) out=out at="$T/store#out" ;;
			dir-*) out=$T/made at=$T/made ;;
			*) out=$T/made.safetensors at=$T/made.safetensors ;;
			esac
			# shellcheck disable=SC2046
			expect 0 tb $(asked "$to") "$(where "$from" "$kind")" "$out" -f
			$py list "$at" >"$T/got" || fail "$kind $from to $to cannot be read"
			cmp -s "$T/want" "$T/got" || {
				diff "$T/want" "$T/got" | head -4 >&2
				fail "$kind $from to $to"
			}
		done
	done
done

# Scales without biases are no scheme that anybody knows: their bytes are moved nevertheless.
$py seed "$T/seed.safetensors"
$py list "$T/seed.safetensors" >"$T/want"
for to in $layouts; do
	# shellcheck disable=SC2046
	expect 0 tb $(asked "$to") "$T/seed.safetensors" "$(where "$to" seed)"
	$py list "$(place "$to" seed)" >"$T/got" || fail "seed $to cannot be read"
	cmp -s "$T/want" "$T/got" || { diff "$T/want" "$T/got" | head -4 >&2; fail "seed to $to"; }
	# shellcheck disable=SC2046
	expect 0 tb $(asked file-each) "$(where "$to" seed)" "$T/seed2.safetensors" -f
	$py list "$T/seed2.safetensors" | cmp -s "$T/want" - || fail "seed back from $to"
done
expect 1 tb tensors seed-store-stacked -f '*down_proj*'
has 'experts\.down_proj\.weight +U32 +3 x 16 x 32 '
expect 2 tb quantize "$T/seed.safetensors" "$T/never" -q int4
err_has 'no scheme fits'

# A map leads from each byte of the source to where it is now.
expect 0 tb pack "$T/quant" mapped --map "$T/map"
$py map "$T/map" "$T/quant" "$T/store#mapped" || fail "the map leads astray"
expect 2 tb pack "$T/quant" mapped2 --map "$T/map"
err_has 'map: exists already'
expect 2 tb pack "$T/quant" mapped2 --map "$T/none/of/it/"
[ ! -e "$T/store/manifests/registry.ollama.ai/library/mapped2" ] || fail "made without its map"
expect 0 tb unpack mapped "$T/back" --map "$T/map2"
$py map "$T/map2" "$T/store#mapped" "$T/back" || fail "the map back leads astray"

# What is in which blob.
blobs() {
	$py blobs "$T/store" "$1" | grep -E "layers\\.0\\.mlp\\.(shared_|switch|experts)" >"$T/got"
	diff "$T/got" - || fail "blobs of $1"
}
L=model.layers.0.mlp
blobs usual-store-each <<EOF
$L.experts 33 $L.experts.0.down_proj.weight
$L.shared_experts 2 $L.shared_experts.down_proj.weight
EOF
blobs usual-store-apart <<EOF
$L.shared_experts.down_proj.weight 1 $L.shared_experts.down_proj.weight
$L.shared_experts.gate_proj.weight 1 $L.shared_experts.gate_proj.weight
$L.experts 33 $L.experts.0.down_proj.weight
EOF
blobs usual-store-projection <<EOF
$L.shared_experts.down_proj.weight 1 $L.shared_experts.down_proj.weight
$L.shared_experts.gate_proj.weight 1 $L.shared_experts.gate_proj.weight
$L.experts.down_proj.weight 1 $L.experts.down_proj.weight
$L.experts.gate_proj.weight 1 $L.experts.gate_proj.weight
$L.experts.up_proj.weight 1 $L.experts.up_proj.weight
EOF
blobs mixtral-store-switch <<EOF
$L.experts 3 $L.switch_mlp.down_proj.weight
EOF
blobs quant-store-stacked <<EOF
$L.shared_experts.down_proj.weight 2 $L.shared_experts.down_proj.weight
$L.shared_experts.gate_proj.weight 2 $L.shared_experts.gate_proj.weight
$L.experts 6 $L.experts.down_proj.weight
EOF
expect 0 tb tensors "$T/mixtral-dir-each"
has '^model\.layers\.0\.block_sparse_moe\.experts\.0\.w1\.weight '
has '^model\.layers\.0\.block_sparse_moe\.gate\.weight '
expect 0 tb tensors "$T/usual-dir-stacked"
has '^model\.layers\.0\.mlp\.switch_mlp\.down_proj\.weight '

# What cannot be packed is named before anything is written.
before=$(find "$T/store" -type f | wc -l)
refused() {
	expect 2 tb pack "$T/bad" never
	err_has "$1"
	rm -r "$T/bad"
}
copy() {
	cp -r "$T/usual" "$T/bad"
}
E=model.layers.10.mlp.experts
copy
$py drop "$T/bad/model.safetensors" $E.3.up_proj.weight
refused "$E.up_proj.weight: expert 3 is missing"
copy
$py drop "$T/bad/model.safetensors" $E.10.up_proj.weight
refused "$E: 11 experts have a $E.0.gate_proj.weight and 10 a $E.0.up_proj.weight"
copy
$py narrow "$T/bad/model.safetensors" $E.4.gate_proj.weight
refused "$E.gate_proj.weight: expert 4 has another shape or type"
expect 0 tb quantize "$T/usual" "$T/bad" -q keep -r "$E.5.gate_proj.weight=int4"
refused "$E.gate_proj.weight: experts stacked in one tensor cannot have different schemes"
expect 2 tb pack "$T/usual" never --experts sideways
err_has 'stacked, per-projection, switch-mlp, per-expert or keep'
expect 2 tb pack "$T/usual" never --shared sideways
err_has 'packed or apart'
[ "$(find "$T/store" -type f | wc -l)" -eq "$before" ] || fail "a refusal wrote"
