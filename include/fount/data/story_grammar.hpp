// SPDX-License-Identifier: Apache-2.0
//
// The tables behind the built-in stories: word lists, and sentences written as bracketed templates.
// Everything the generator may say and the recogniser may accept is decided here and nowhere else.
// No code: reading the tables, telling stories and parsing sentences is in stories.hpp.

#pragma once

#include <array>
#include <string_view>

namespace fount::data {

/// One row of the story tables. `text` is a list of alternatives separated by `|`, each a row of symbols:
///  - `Name` (the name of another row) is replaced by one of that row's alternatives;
///  - `Name.slot` picks a word from a word list once per story and repeats it ever after, so that a
///    story keeps its hero, toy and place; two slots of one list never hold the same word;
///  - `(NP the Toy.thing)` tells the recogniser which phrase the symbols form; it prints nothing;
///  - `<` and `>` open and close a quotation, `/` starts a new line, a number is a weight;
///  - any other symbol is that word or that mark.
///
/// The generator follows the rows by name. The recogniser follows them by `category` and joins all rows,
/// and all brackets, of one category: whatever is a verb phrase in one template is a verb phrase in all.
struct StoryRow {
  std::string_view category;  // what the recogniser takes the row for
  std::string_view name;      // how other rows refer to it; empty: its words are written out instead
  std::string_view text;
};

/// Word lists to choose from. A list of two words (he/she) follows the gender of the name in its slot:
/// the names alternate between boys and girls.
inline constexpr std::array kStoryWordLists = {
    StoryRow{"Name", "Name",
             "Tom Mia Ben Lily Sam Anna Max Zoe Leo Nina Jack Ruby Finn Kate Hugo Lucy Gus Emma Dan Rosa "
             "Ned Jane Bob Ivy Pip Tess Otto Clara Paul Dora Rex Fay"},
    StoryRow{"Subj", "He", "he she"},
    StoryRow{"NP", "Him", "him her"},
    StoryRow{"Det", "His", "his her"},
    StoryRow{"Noun", "Child", "boy girl"},
    StoryRow{"Noun", "Animal",
             "fox cat dog bear rabbit mouse duck frog goat pig hen pony lamb crow kitten puppy turtle "
             "squirrel hedgehog donkey beaver deer swan lion"},
    StoryRow{"Noun", "Kin", "mother father sister brother grandma grandpa cousin aunt"},
    StoryRow{"Noun", "Worker", "baker farmer teacher miller doctor sailor painter king queen gardener"},
    StoryRow{"Noun", "Toy",
             "ball kite drum boat doll train whistle robot scarf hat bell book key map basket coin ring "
             "mitten ribbon lantern flute button shell feather"},
    StoryRow{"Noun", "Fruit", "pear plum peach cherry fig nut lemon melon"},
    StoryRow{"Noun", "Dish", "cake pie pudding loaf tart bun cookie muffin"},
    StoryRow{"Noun", "Tool", "bowl spoon pan cup jug pot tray whisk"},
    StoryRow{"Noun", "Plant", "flower tulip daisy pumpkin sunflower vine"},
    StoryRow{"Noun", "Load", "bag box sack bucket chest barrel"},
    StoryRow{"Noun", "Trap", "hole net ditch bush well pipe"},
    StoryRow{"Noun", "Light", "lamp candle torch"},
    StoryRow{"Noun", "Sound", "noise cry splash squeak bang"},
    StoryRow{"Noun", "Flyer", "butterfly bird bee dragonfly"},
    StoryRow{"Noun", "Home", "house hut cottage cabin tent"},
    StoryRow{"Noun", "Inside",
             "forest garden park field meadow barn valley village town yard orchard kitchen cave jungle"},
    StoryRow{"Noun", "Beside", "river lake pond bridge sea gate mill stream road hill fence wall"},
    StoryRow{"Noun", "Spot", "bed table chair bench tree rock log rug stool sofa door cupboard"},
    StoryRow{"Noun", "Day", "day morning afternoon evening"},
    StoryRow{"Noun", "Cloud", "cloud star rainbow rose diamond"},
    StoryRow{"Plural", "Treats", "berries nuts plums cookies carrots cherries seeds grapes pancakes eggs"},
    StoryRow{"Plural", "Flyers", "birds bees geese butterflies"},
    StoryRow{"Plural", "Plants", "trees flowers bushes leaves"},
    StoryRow{"Num", "Num", "two three four five six seven"},
    StoryRow{"Adj", "Look",
             "red blue green yellow big small little new shiny soft round pretty white black brown golden "
             "tiny long bright lovely silver pink"},
    StoryRow{"Adj", "Nature",
             "kind brave shy clever funny gentle quiet busy lazy cheerful polite curious friendly young "
             "wise merry"},
    StoryRow{"Adj", "Sad", "sad worried upset lonely cross unhappy"},
    StoryRow{"Adj", "Glad", "happy glad proud pleased cheerful thankful"},
    StoryRow{"Adj", "Scared", "scared afraid frightened nervous"},
    StoryRow{"Adj", "Nice", "kind good brave clever"},
    StoryRow{"Adj", "Weather", "sunny windy cold warm rainy snowy foggy hot fine bright"},
    StoryRow{"Adj", "Good", "good great sweet fine wonderful"},
    StoryRow{"Comp", "Nicer", "brighter softer prettier lighter nicer"},
    StoryRow{"Comp", "Braver", "braver smaller taller quicker quieter younger"},
    StoryRow{"Adv", "Softly", "softly sadly quietly slowly"},
    StoryRow{"Adv", "Loudly", "loudly quickly happily bravely kindly"},
    StoryRow{"VerbI", "Moved", "walked ran went hurried hopped raced skipped marched"},
    StoryRow{"InfI", "Game", "play sing run jump dance rest read paint"},
    StoryRow{"InfI", "Skill", "swim whistle skate climb dive juggle sing dance"},
    StoryRow{"Said", "Said", "said cried called shouted"},
};

/// Parts of speech of the words written out in the templates: in the recogniser such a word stands for all
/// words of its category, so that `under` parses wherever `behind` was written. A word in no list below
/// stands for itself alone.
inline constexpr std::array kStoryWordClasses = {
    StoryRow{"Det", "", "the a my your their this some"},
    StoryRow{"Subj", "", "I we they"},
    StoryRow{"NP", "", "it you me one everything something"},
    StoryRow{"Prep", "", "in on by near under behind over from with into at through past along for across up"},
    StoryRow{"Away", "", "home away down out everywhere together again around hard first outside upstairs"},
    StoryRow{"Conj", "", "and but so"},
    StoryRow{"Sub", "", "when because while until"},
    StoryRow{"Start", "", "then soon now"},
    StoryRow{"Was", "", "was were felt"},
    StoryRow{"Is", "", "is are am"},
    StoryRow{"Modal", "", "could can will would must"},
    StoryRow{"Did", "", "did do"},
    StoryRow{"Very", "", "very so too quite"},
    StoryRow{"Wh", "", "who what where why"},
    StoryRow{"Said", "", "asked answered"},
    StoryRow{"Yes", "", "yes no oh well dear"},
    StoryRow{"Wanted", "", "wanted liked loved tried began hoped"},
    StoryRow{"Want", "", "want like need have love"},
    StoryRow{"VerbI", "",
             "looked sat cried played lived came flew fell slept smiled laughed sang waited jumped pulled "
             "stood grew blew danced"},
    StoryRow{"VerbT", "",
             "had got took gave saw found lost dropped met heard opened shared fixed told hugged made put "
             "threw followed carried held baked left brought thanked ate washed"},
    StoryRow{"InfT", "",
             "find see help reach climb make carry fix teach show bring get use ask follow watch open take "
             "shake share hold give"},
    StoryRow{"InfI", "", "sleep go come look try cry wait sit stop grow worry"},
    StoryRow{"Adj", "",
             "hungry tired tall high heavy deep gone stuck free wet cold old dark ready wrong late sorry "
             "mine poor best warm strong sleepy loud empty safe nice"},
    StoryRow{"Noun", "",
             "wind sun rain sky moon water road tree grass ground fire bed back rope stick ladder voice way "
             "friend name birthday bite blanket seed dream supper light string glue song night time"},
    StoryRow{"Plural", "", "friends legs days"},
};

/// Phrases that several stories share.
inline constexpr std::array kStoryPhrases = {
    StoryRow{"NP", "HeroName", "Name.hero"},
    StoryRow{"NP", "HisKin", "His.hero Kin.kin"},
    StoryRow{"NP", "ThePal", "the Animal.pal"},
    StoryRow{"NP", "Pal", "the Animal.pal | Name.pal"},
    StoryRow{"NP", "NewPal", "a Nature Animal.pal named Name.pal"},
    StoryRow{"NP", "Both", "Name.hero and Name.pal | the two friends"},
    StoryRow{"NP", "TheToy", "the Toy.thing | 2 the Toy.thing | the Look.look Toy.thing"},
    StoryRow{"NP", "AToy", "a Look.look Toy.thing"},
    StoryRow{"NP", "HeroKind",
             "2 a Nature Child.hero named Name.hero | 3 a Nature Animal.kind named Name.hero | "
             "a Look Animal.kind named Name.hero"},
    StoryRow{"Subj", "Hero", "HeroName | 2 He.hero"},
    StoryRow{"Subj", "They", "they | Both"},
    StoryRow{"PP", "Where", "in the Inside | by the Beside | near the Beside"},
    StoryRow{"PP", "InPlace", "in the Inside.place"},
    StoryRow{"PP", "ToPlace", "to the Inside.place"},
    StoryRow{"Lead", "OneDay", "one Weather Day | one Day"},
    StoryRow{"Lead", "Then", "just then | after that | a bit later"},
    StoryRow{"Lead", "AtLast", "at last | in the end"},
    StoryRow{"When", "Often", "every Day | all day | again and again | Num times"},
    StoryRow{"Tag", "HeroSaid", "Said HeroName | He.hero said | Said HeroName Adv"},
    StoryRow{"Tag", "HeroAsked", "asked HeroName | He.hero asked"},
    StoryRow{"Tag", "PalSaid", "Said Pal | Said ThePal | Said Pal Adv"},
    StoryRow{"Tag", "PalAsked", "asked Pal"},
    StoryRow{"Tag", "KinSaid", "Said HisKin"},
    StoryRow{"Adv", "Adv", "Softly | Loudly"},
};

/// The sentences. Every alternative is one sentence with its end mark.
inline constexpr std::array kStorySentences = {
    // Who the story is about.
    StoryRow{"Sentence", "Opening",
             "3 (Lead once upon a time) , (C there was HeroKind) . | "
             "2 (C there once was HeroKind) . | "
             "(PP in (NP a Look Home)) (PP by (NP the Beside)) (VP lived HeroKind) . | "
             "(C HeroName (VP was (NP a Nature Child.hero who (VP lived (PP by (NP the Beside)))))) . | "
             "(C HeroName (VP was (NP a Nature Animal.kind that (VP lived (PP in (NP a Look Home)))))) ."},
    StoryRow{"Sentence", "About",
             "(C Hero (VP lived (PP with HisKin) (PP by (NP the Beside)))) . | "
             "(C Hero (VP liked to (Inf Game Where))) . | "
             "(C Hero (VP was Braver than HisKin)) . | "
             "(C Hero (VP loved to (Inf Game.a) and (Inf Game.b))) . | "
             "every Day , (C Hero (VP Moved (PP to (NP the Beside)))) . | "
             "(C HisKin (VP loved Him.hero Very much)) ."},
    StoryRow{"Very", "Very", "very | so"},
    StoryRow{"Sentence", "Scene",
             "(C (NP the sun) (VP was warm)) , and (C (NP the Flyers) (VP sang (PP in (NP the trees)))) . | "
             "(C (NP the Flyers) (VP flew (PP over (NP the Plants)))) . | "
             "(C (NP the wind) (VP blew (PP through (NP the Plants)))) . | "
             "(C (NP the sky) (VP was blue)) , and (C (NP the grass) (VP was wet)) . | "
             "what a Weather Day (C it (VP was)) !"},

    // A friend comes by, asks, and helps.
    StoryRow{"Sentence", "MeetPal",
             "Then , (C NewPal (VP came (PP along (NP the road)))) . | "
             "soon (C Hero (VP met NewPal)) . | "
             "Then , (C Hero (VP saw NewPal Where)) . | "
             "when (C NewPal (VP heard Him.hero)) , (C it (VP came (PP to Him.hero))) ."},
    StoryRow{"Sentence", "AskWhy",
             "< (Q why are you Very Sad) ? > PalAsked . | < (Q what is wrong) ? > PalAsked . | "
             "< (Q why do you cry) ? > PalAsked ."},
    StoryRow{"Sentence", "HelpMe",
             "< (Q can you (Inf help me)) ? > HeroAsked . | < (L please (Inf help me)) ! > HeroSaid . | "
             "< (Q will you (Inf help me)) ? > HeroAsked ."},
    StoryRow{"Sentence", "PalHelps",
             "< (L yes , (L I (PV can (Inf help you)))) , > PalSaid . | "
             "< (L do not (Inf worry)) , > PalSaid . | "
             "ThePal answered , < (L I (PV will (Inf help you))) . > | "
             "< (L do not (Inf cry)) , > PalSaid ."},
    StoryRow{"Sentence", "HeroThanks",
             "< (L thank you) , Name.pal ! > HeroSaid . | < (L you (PV are Very Nice)) ! > HeroSaid . | "
             "< (L thank you) ! > HeroSaid , and (C Hero (VP hugged Pal)) . | "
             "(C Hero (VP thanked Pal Num times)) ."},
    StoryRow{"Sentence", "HeroSad",
             "(C Hero (VP was Very Sad)) . | "
             "(C Hero (VP sat (PP by (NP the Beside))) and (VP cried)) . | "
             "(C Hero (VP did not (Inf know what to do))) . | "
             "how Sad He.hero was ! | "
             "(Q what could Hero do) ? | "
             "(C Hero (VP felt Sad)) , and (C Hero (VP began to (Inf cry))) ."},

    // How stories end.
    StoryRow{"Sentence", "HappyPair",
             "(C Hero (VP was Glad)) , and so was Pal . | "
             "(C They (VP laughed) and (VP danced together)) . | "
             "what a Good Day (C it (VP was)) ! | "
             "how Glad they were !"},
    StoryRow{"Sentence", "EndPair",
             "from that Day on , (C They (VP were (NP best friends))) . | "
             "AtLast , (C They (VP Moved home together)) . | "
             "(C They (VP played together until (C (NP the sun) (VP was gone)))) . | "
             "(Lead that night) , (C Both (VP had (NP their supper) together)) . | "
             "(C They (VP were never lonely again)) ."},
    StoryRow{"Sentence", "EndKin",
             "(C HisKin (VP was very proud (PP of Him.hero))) . | "
             "(Lead that night) , (C Hero (VP told HisKin everything)) . | "
             "(Lead that night) , (C Hero (VP slept) and (VP had (NP a Good dream))) . | "
             "(C HisKin (VP hugged Him.hero) and (VP sang (NP a Good song))) . | "
             "how Glad He.hero was !"},
};

/// The sentences that belong to one plot each.
inline constexpr std::array kStoryPlotSentences = {
    // A toy is lost and found.
    StoryRow{"Sentence", "Treasure",
             "(C Hero (VP had AToy)) . | "
             "(C HisKin (VP gave Him.hero AToy)) . | "
             "(C Hero (VP got AToy (PP from HisKin))) ."},
    StoryRow{"Sentence", "Beloved",
             "(C Hero (VP loved TheToy Very much)) . | "
             "(C it (VP was Nicer than (NP a Cloud))) . | "
             "(C Hero (VP played (PP with it) Often)) . | "
             "(C it (VP was (NP the best Toy.thing (PP in (NP the Inside))))) ."},
    StoryRow{"Sentence", "TakeOut",
             "OneDay , (C Hero (VP took TheToy ToPlace)) . | "
             "OneDay , (C Hero (VP Moved ToPlace (PP with TheToy))) . | "
             "OneDay , (C Hero (VP played (PP with TheToy) InPlace)) ."},
    StoryRow{"Sentence", "LoseToy",
             "but when (C Hero (VP came home)) , (C TheToy (VP was gone)) . | "
             "(C (NP the wind) (VP blew hard)) , and (C TheToy (VP flew away)) . | "
             "(PP on (NP the way home)) , (C Hero (VP lost it)) . | "
             "then (C Hero (VP fell (PP over (NP a Spot))) and (VP lost TheToy)) . | "
             "while (C Hero (VP slept (PP in (NP the grass)))) , (C TheToy (VP fell (PP into (NP a Trap)))) ."},
    StoryRow{"Sentence", "Search",
             "(C Hero (VP looked (PP under (NP the Spot.a)) and (PP behind (NP the Spot.b)))) . | "
             "(C Hero (VP looked (PP in (NP the Load)))) , but (C it (VP was not there)) . | "
             "(C Hero (VP looked (PP under (NP the Spot.a)) , (PP behind (NP the Spot.b)) , "
             "and (PP in (NP the Load)))) . | "
             "(C Hero (VP looked everywhere)) , but (C Hero (VP could not (Inf find it))) ."},
    StoryRow{"Sentence", "WasItThere",
             "(Q was it Where) ? | (Q was it (PP under (NP the Spot.c))) ? | (Q where was TheToy) ?"},
    StoryRow{"Sentence", "NotThere", "no , (C it (VP was not there)) . | no , (C it (VP was not)) ."},
    StoryRow{"Sentence", "TellLost",
             "< (L I (PV can not (Inf find (NP my Toy.thing)))) , > HeroSaid . | "
             "< (L I (VP lost (NP my Look.look Toy.thing))) , > HeroSaid . | "
             "HeroName said , < (L (NP my Toy.thing) (PV is gone)) . >"},
    StoryRow{"Sentence", "SearchTogether",
             "so (C They (VP looked Where and Where)) . | "
             "< (L we (PV must (Inf look Where))) , > PalSaid . | "
             "(C They (VP looked (PP for it) until (C (NP the sky) (VP was dark)))) ."},
    StoryRow{"Sentence", "FindToy",
             "AtLast , (C Pal (VP saw something (PP under (NP the Spot.d)))) . | "
             "AtLast , (C Pal (VP found TheToy (PP under (NP the Spot.d)))) . | "
             "there (C it (VP was)) , (PP behind (NP the Spot.d)) ! | "
             "(C TheToy (VP was (PP under (NP the Spot.d)))) !"},

    // A fruit hangs too high.
    StoryRow{"Sentence", "SeeFruit",
             "OneDay , (C Hero (VP saw (NP a Look.look Fruit.food) (PP in (NP a tall tree)))) . | "
             "OneDay , (C Hero (VP saw (NP a tall Fruit.food tree (PP by (NP the Beside))))) . | "
             "(C Hero (VP wanted to (Inf get (NP a Fruit.food) (PP for HisKin)))) ."},
    StoryRow{"Sentence", "TooHigh",
             "(C (NP the Fruit.food) (VP was too high (PP for Him.hero))) . | "
             "but (C (NP the Fruit.food) (VP was high (PP up (NP a tall tree)))) . | "
             "(C (NP the tree) (VP was taller than (NP a house))) ."},
    StoryRow{"Sentence", "TryFruit",
             "(C Hero (VP jumped Often)) , but (C Hero (VP could not (Inf reach it))) . | "
             "(C Hero (VP tried to (Inf climb (NP the tree)))) , but (C Hero (VP fell down)) . | "
             "(C Hero (VP threw (NP a stick))) , but (C it (VP fell (PP into (NP the grass)))) . | "
             "(C Hero (VP jumped (PP from (NP a Spot)))) , but (C it (VP was not high)) ."},
    StoryRow{"Sentence", "WantFruit",
             "< (L I (PV want (NP that Fruit.food))) ! > HeroSaid . | "
             "< (L I (PV am not tall)) , > HeroSaid . | < (L I (PV am Very hungry)) , > HeroSaid ."},
    StoryRow{"Sentence", "FruitPlan",
             "< (L (Inf sit (PP on (NP my back)))) , > PalSaid . | "
             "< (L I (PV can (Inf shake (NP the tree)))) , > PalSaid . | "
             "< (L we (PV must (Inf use (NP a ladder)))) , > PalSaid ."},
    StoryRow{"Sentence", "GetFruit",
             "then (C (NP the Fruit.food) (VP fell down)) . | "
             "AtLast , (C Hero (VP had (NP the Fruit.food))) . | "
             "soon (C (NP the Fruit.food) (VP was (PP in (NP the grass)))) ."},
    StoryRow{"Sentence", "ShareFruit",
             "(C They (VP shared (NP the Fruit.food))) . | "
             "(C Hero (VP gave (NP half of it) (PP to Pal))) . | "
             "(C They (VP sat (PP under (NP the tree))) and (VP ate it)) ."},

    // An animal is stuck.
    StoryRow{"Sentence", "WalkOut",
             "OneDay , (C Hero (VP Moved ToPlace)) . | "
             "OneDay , (C Hero (VP Moved (PP along (NP the Beside)))) . | "
             "OneDay , (C Hero (VP wanted to (Inf Game InPlace))) ."},
    StoryRow{"Sentence", "HearCry",
             "Then , (C Hero (VP heard (NP a Sound.sound))) . | "
             "(C Hero (VP heard (NP a Sound.sound) (PP from (NP a Trap.trap)))) . | "
             "< (L (Inf help me)) ! > cried (NP a little voice) ."},
    StoryRow{"Sentence", "WhatIsIt", "(Q who was it) ? | (Q what was that) ? | (Q who could it (Inf be)) ?"},
    StoryRow{"Sentence", "StuckPal",
             "(C NewPal (VP was stuck (PP in (NP a Trap.trap)))) . | "
             "(C Hero (VP found NewPal (PP in (NP a Trap.trap)))) ."},
    StoryRow{"Sentence", "PalStuck",
             "< (L I (PV am stuck)) , > PalSaid . | < (L please (Inf help me)) ! > PalSaid . | "
             "< (Q can you (Inf help me)) ? > PalAsked . | < (L I (PV can not (Inf come home))) , > PalSaid ."},
    StoryRow{"Sentence", "TryPull",
             "(C Hero (VP pulled) and (VP pulled)) , but (C Pal (VP was too heavy)) . | "
             "(C Hero (VP tried Often)) , but (C (NP the Trap.trap) (VP was too deep)) . | "
             "(C Hero (VP was too small)) , but (C Hero (VP did not (Inf stop))) ."},
    StoryRow{"Sentence", "FetchKin",
             "so (C Hero (VP ran home) and (VP told HisKin)) . | "
             "(C Hero (VP ran (PP to HisKin) (PP for (NP a rope)))) . | "
             "< (L please (Inf bring (NP a rope))) ! > HeroSaid (PP to HisKin) ."},
    StoryRow{"Sentence", "PullAll",
             "(C HisKin (VP came (PP with (NP a rope)))) . | "
             "(C HisKin (VP brought (NP a long ladder))) . | "
             "(C they (VP pulled hard)) , and (C Pal (VP came out)) ."},
    StoryRow{"Sentence", "PalFree",
             "AtLast , (C Pal (VP was free)) . | soon (C Pal (VP was free)) , and (C Hero (VP was Glad)) ."},
    StoryRow{"Sentence", "PalThanks",
             "< (L thank you) , Name.hero ! > PalSaid . | < (L you (PV are Very Nice)) , > PalSaid . | "
             "(C Pal (VP gave Him.hero AToy)) ."},

    // Someone bakes, and needs a tool.
    StoryRow{"Sentence", "WantBake",
             "(C it (VP was (NP the birthday) (PP of HisKin))) . | "
             "OneDay , (C Hero (VP wanted to (Inf make (NP a Dish.dish) (PP for HisKin)))) . | "
             "< (L I (PV will (Inf make (NP a Good Dish.dish)))) , > HeroSaid ."},
    StoryRow{"Sentence", "NoTool",
             "but (C Hero (VP did not (Inf have (NP a Tool.tool)))) . | "
             "(C Hero (VP had (NP some Treats and some Treats))) , but (C Hero (VP did not (Inf have (NP a Tool.tool)))) . | "
             "(C (NP the Tool.tool) (VP was too old)) ."},
    StoryRow{"Sentence", "AskWorker",
             "so (C Hero (VP Moved (PP to (NP the Worker.a)))) . | "
             "so (C Hero (VP asked (NP the Worker.a) (PP for (NP a Tool.tool)))) . | "
             "< (Q do you (Inf have (NP a Tool.tool))) ? > He.hero asked (NP the Worker.a) ."},
    StoryRow{"Sentence", "WorkerNo",
             "< (L no , (L I (PV do not (Inf have one)))) , > said (NP the Worker.a) . | "
             "< (L (Inf ask (NP the Worker.b))) , > said (NP the Worker.a) . | "
             "(C (NP the Worker.a) (VP was not (PP at (NP the Home)))) ."},
    StoryRow{"Sentence", "WorkerYes",
             "(C (NP the Worker.b) (VP smiled) and (VP gave Him.hero (NP a Look Tool.tool))) . | "
             "< (L yes , (L you (PV can (Inf use (NP my Tool.tool))))) , > said (NP the Worker.b) . | "
             "(C (NP the Worker.b) (VP had (NP a Look Tool.tool (PP for Him.hero)))) ."},
    StoryRow{"Sentence", "Bake",
             "(C Hero (VP put (NP Treats.a and Treats.b) (PP into (NP the Dish.dish)))) . | "
             "(C Hero (VP made (NP a big Dish.dish (PP with (NP Treats.a))))) . | "
             "(C Hero (VP took (NP Num Treats.a , Num Treats.b , and (NP some water)))) ."},
    StoryRow{"Sentence", "Baked",
             "soon (C (NP the Dish.dish) (VP was ready)) . | "
             "(C (NP the Dish.dish) (VP was warm and Good)) . | "
             "(C Hero (VP took (NP the Dish.dish) (PP from (NP the fire)))) ."},
    StoryRow{"Sentence", "EatDish",
             "(C HisKin (VP took (NP a bite)) and (VP smiled)) . | "
             "< (L it (PV is (NP the best Dish.dish))) ! > KinSaid . | "
             "(C they (VP sat (PP by (NP the fire))) and (VP ate (NP the Dish.dish))) . | "
             "< (L thank you) , Name.hero ! > KinSaid ."},

    // A noise in the night.
    StoryRow{"Sentence", "Night",
             "(Lead one Weather night) , (C Hero (VP could not (Inf sleep))) . | "
             "(C it (VP was (NP a Weather night))) . | "
             "(Lead one night) , (C (NP the rain) (VP fell (PP on (NP the Home)))) ."},
    StoryRow{"Sentence", "NightNoise",
             "Then , (C Hero (VP heard (NP a Sound.sound) (PP at (NP the Spot)))) . | "
             "(C (NP a loud Sound.sound) (VP came (PP from (NP the Inside)))) . | "
             "Then , (C there was (NP a Sound.sound) (PP under (NP the Spot))) ."},
    StoryRow{"Sentence", "Afraid",
             "(C Hero (VP was Very Scared)) . | (C Hero (VP was afraid (PP of (NP the Sound.sound)))) . | "
             "(C Hero (VP was Scared)) , but (C Hero (VP did not (Inf cry))) ."},
    StoryRow{"Sentence", "WhoIsThere",
             "< (Q who is there) ? > HeroAsked . | < (Q who are you) ? > HeroAsked . | "
             "(Q what was (NP that Sound.sound)) ? | < (Q is it (NP a Animal)) ? > HeroAsked ."},
    StoryRow{"Sentence", "TakeLight",
             "(C Hero (VP took (NP a Light)) and (VP looked (PP behind (NP the Spot)))) . | "
             "(C Hero (VP took (NP a Light)) and (VP opened (NP the door))) ."},
    StoryRow{"Sentence", "WetPal",
             "(C NewPal (VP sat (PP in (NP the rain)))) . | "
             "(C it (VP was NewPal)) . | "
             "(C it (VP was (NP a cold and wet Animal.pal))) ."},
    StoryRow{"Sentence", "PalCold",
             "< (L I (PV am cold and hungry)) , > PalSaid . | < (L I (PV do not (Inf have (NP a Home)))) , > PalSaid . | "
             "< (L please (Inf open (NP the door))) , > PalSaid ."},
    StoryRow{"Sentence", "WarmPal",
             "(C Hero (VP gave (NP ThePal) (NP some Treats and a warm blanket))) . | "
             "(C Pal (VP ate (NP Num Treats)) and (VP slept (PP by (NP the fire)))) . | "
             "< (L you (PV can (Inf sleep (PP in (NP my bed))))) , > HeroSaid ."},
    StoryRow{"Sentence", "NotAfraid",
             "(C Hero (VP was not Scared)) . | (C Hero (VP was never Scared again)) ."},

    // Two friends want one toy.
    StoryRow{"Sentence", "BestFriend",
             "(C (NP the best friend (PP of HeroName)) (VP was NewPal)) . | "
             "(C Hero (VP had (NP a friend))) , (NP NewPal) ."},
    StoryRow{"Sentence", "FindOne",
             "OneDay , (C They (VP found AToy InPlace)) . | "
             "OneDay , (C They (VP saw AToy (PP under (NP a Spot)))) ."},
    StoryRow{"Sentence", "Mine",
             "< (L it (PV is mine)) ! > HeroSaid . | < (L I (VP saw it first)) ! > HeroSaid . | "
             "< (L I (PV want TheToy)) ! > HeroSaid ."},
    StoryRow{"Sentence", "NoMine",
             "< (L no , (L it (PV is mine))) ! > PalSaid . | < (L no , (L I (VP found it))) ! > PalSaid . | "
             "< (L you (PV can not (Inf have it))) , > PalSaid ."},
    StoryRow{"Sentence", "Broke",
             "(C Both (VP pulled hard)) , and (C TheToy (VP broke)) . | then (C TheToy (VP broke (PP in two))) ."},
    StoryRow{"Sentence", "BothSad",
             "(C They (VP were Very Sad)) . | (C (NP TheToy) (VP was (PP in (NP the water)))) ."},
    StoryRow{"Sentence", "Sorry",
             "< (L I (PV am sorry)) , > HeroSaid . | < (L I (PV am Very sorry)) , > HeroSaid Softly ."},
    StoryRow{"Sentence", "SorryToo",
             "< (L I (PV am sorry)) , > PalSaid . | < (L we (PV can (Inf fix it))) , > PalSaid . | "
             "< (L we (PV must (Inf share it))) , > PalSaid ."},
    StoryRow{"Sentence", "FixToy",
             "(C They (VP fixed it (PP with (NP some string)))) . | (C They (VP fixed TheToy (PP with (NP some glue)))) . | "
             "soon (C TheToy (VP was as good as new)) ."},

    // Learning takes practice.
    StoryRow{"Sentence", "WantSkill",
             "(C Hero (VP wanted to (Inf Skill.skill))) , but (C Hero (VP did not (Inf know how))) . | "
             "(C (NP the friends of HeroName) (VP could (Inf Skill.skill))) , but (C Hero (VP could not)) . | "
             "(C Hero (VP could not (Inf Skill.skill))) ."},
    StoryRow{"Sentence", "TrySkill",
             "(C Hero (VP tried Often)) , but (C Hero (VP fell down)) . | "
             "(C Hero (VP tried to (Inf Skill.skill))) , but (C it (VP was too hard)) . | "
             "when (C Hero (VP tried to (Inf Skill.skill))) , (C (NP the Flyers) (VP laughed)) ."},
    StoryRow{"Sentence", "GiveUp",
             "< (L I (PV will never (Inf Skill.skill))) , > HeroSaid . | "
             "< (L I (PV can not (Inf Skill.skill))) , > HeroSaid . | "
             "< (L I (PV want to (Inf Skill.skill))) , > HeroSaid ."},
    StoryRow{"Sentence", "TeachSkill",
             "< (L I (PV can (Inf teach you))) , > PalSaid . | < (L (Inf watch me)) , > PalSaid . | "
             "< (L you (PV must (Inf try again))) , > PalSaid . | "
             "< (L I (PV could not (Inf Skill.skill)) when (L I (VP was little))) , > PalSaid ."},
    StoryRow{"Sentence", "Practice",
             "so (C Hero (VP tried again)) . | every Day , (C They (VP came (PP to (NP the Beside)))) . | "
             "(C Hero (VP did not (Inf stop))) . | "
             "(C Hero (VP tried slowly)) , and (C Pal (VP waited)) ."},
    StoryRow{"Sentence", "CanSkill",
             "AtLast , (C Hero (VP could (Inf Skill.skill))) ! | "
             "< (L (Inf look) , (L I (PV can (Inf Skill.skill)))) ! > HeroSaid . | "
             "after Num days , (C Hero (VP could (Inf Skill.skill))) ."},

    // The way home is lost.
    StoryRow{"Sentence", "GoFar",
             "OneDay , (C Hero (VP followed (NP a Look Flyer) (PP into (NP the Inside.place)))) . | "
             "OneDay , (C Hero (VP Moved (PP over (NP the Beside)) and (PP through (NP the Inside)))) . | "
             "OneDay , (C Hero (VP looked (PP for Treats) InPlace)) ."},
    StoryRow{"Sentence", "LoseWay",
             "then (C Hero (VP could not (Inf find (NP the way home)))) . | "
             "(C Hero (VP looked around)) , but (C (NP the road) (VP was gone)) . | "
             "(Q where was (NP the way home)) ? | "
             "soon (C (NP the sky) (VP was dark)) , and (C Hero (VP was Scared)) ."},
    StoryRow{"Sentence", "AskWay",
             "< (Q where is (NP my Home)) ? > HeroAsked . | "
             "< (Q can you (Inf show me (NP the way home))) ? > HeroAsked . | "
             "< (L I (PV want to (Inf go home))) , > HeroSaid ."},
    StoryRow{"Sentence", "LeadHome",
             "(C They (VP Moved (PP along (NP the Beside.a)) and (PP past (NP the Beside.b)))) . | "
             "(C They (VP Moved (PP past (NP the Beside.a)) , (PP over (NP the Beside.b)) , "
             "and (PP through (NP the Inside)))) . | "
             "< (L (Inf follow me)) ! > PalSaid , and (C they (VP Moved (PP along (NP the Beside)))) . | "
             "(C Hero (VP held (NP a Light))) , and (C Pal (VP Moved first)) ."},
    StoryRow{"Sentence", "SeeHome",
             "AtLast , (C Hero (VP saw (NP the Home) (PP of HisKin))) . | "
             "AtLast , (C HisKin (VP came) and (VP hugged Him.hero)) . | "
             "soon (C Hero (VP was home again)) ."},

    // A seed needs time.
    StoryRow{"Sentence", "FindSeed",
             "OneDay , (C Hero (VP found (NP a tiny seed) InPlace)) . | "
             "OneDay , (C HisKin (VP gave Him.hero (NP a Look seed))) ."},
    StoryRow{"Sentence", "PutSeed",
             "(C Hero (VP put it (PP in (NP the ground)) (PP by (NP the Beside)))) . | "
             "(C Hero (VP put (NP the seed) (PP into (NP a Tool)))) ."},
    StoryRow{"Sentence", "WaterSeed",
             "every Day , (C Hero (VP gave it (NP some water))) . | "
             "(C Hero (VP gave it (NP some water)) and (VP sang (NP a Good song))) . | "
             "(C Hero (VP waited Often)) , but (C it (VP did not (Inf grow))) ."},
    StoryRow{"Sentence", "AskSeed",
             "< (Q when will it (Inf grow)) ? > HeroAsked . | < (Q why is it Very late) ? > HeroAsked . | "
             "< (L it (PV will never (Inf grow))) , > HeroSaid ."},
    StoryRow{"Sentence", "KinWait",
             "< (L you (PV must (Inf wait))) , > KinSaid . | < (L do not (Inf worry)) , > KinSaid . | "
             "< (L (Inf wait (PP for (NP the sun)))) , > KinSaid ."},
    StoryRow{"Sentence", "Grown",
             "OneDay , (C there was (NP a Look.look Plant.plant)) . | "
             "after Num days , (C Hero (VP saw (NP a Look.look Plant.plant))) . | "
             "AtLast , (C it (VP was (NP a Look.look Plant.plant))) !"},
    StoryRow{"Sentence", "Grown2",
             "(C (NP the Plant.plant) (VP was taller than HisKin)) . | "
             "(C (NP the Plant.plant) (VP was Nicer than (NP a Cloud))) ."},

    // A heavy load is carried.
    StoryRow{"Sentence", "MeetWorker",
             "OneDay , (C Hero (VP met (NP a Worker.a) (PP by (NP the Beside)))) . | "
             "OneDay , (C (NP a poor Worker.a) (VP came (PP along (NP the road)))) ."},
    StoryRow{"Sentence", "HasLoad",
             "(C (NP the Worker.a) (VP had (NP a heavy Load.load))) . | "
             "(C (NP the Worker.a) (VP carried (NP a Load.load (PP with Treats)))) . | "
             "< (L (NP this Load.load) (PV is too heavy (PP for me))) , > said (NP the Worker.a) ."},
    StoryRow{"Sentence", "OfferCarry",
             "< (L I (PV can (Inf carry it))) , > HeroSaid . | "
             "< (Q can I (Inf help you)) ? > HeroAsked . | "
             "(C Hero (VP was small)) , but (C Hero (VP wanted to (Inf help))) ."},
    StoryRow{"Sentence", "Carry",
             "(C they (VP carried (NP the Load.load) (PP over (NP the Beside)))) . | "
             "(C Hero (VP carried it (PP past (NP the Beside.a)) and (PP up (NP a hill)))) . | "
             "(C Hero (VP was tired)) , but (C Hero (VP did not (Inf stop))) ."},
    StoryRow{"Sentence", "WorkerGift",
             "(C (NP the Worker.a) (VP gave Him.hero AToy)) . | "
             "< (L thank you) , Name.hero ! > said (NP the Worker.a) . | "
             "< (L you (PV are Very Nice)) , > said (NP the Worker.a) . | "
             "(C (NP the Worker.a) (VP gave Him.hero (NP Num Treats))) ."},
    StoryRow{"Sentence", "RunHome",
             "(C Hero (VP ran home) and (VP told HisKin)) . | "
             "(C Hero (VP ran home because (C Hero (VP was Very Glad))))."},
};

/// The plots: which sentence follows which. An empty alternative leaves the sentence out.
inline constexpr std::array kStoryPlots = {
    StoryRow{"Story", "Story",
             "Opening Start / LostToy | Opening Start / HighFruit | Opening Start / StuckAnimal | "
             "Opening Start / Baking | Opening Start / NightVisit | Opening / Quarrel | "
             "Opening Start / Lesson | Opening Start / WayHome | Opening Start / Seed | "
             "Opening Start / HeavyLoad"},
    StoryRow{"Story", "Start", "About | About Scene | Scene"},
    StoryRow{"Story", "LostToy",
             "Treasure Beloved TakeOut LoseToy / HeroSad Search SearchMore / MeetPal AskWhy TellLost PalHelps "
             "SearchTogether FindToy / EndWithPal"},
    StoryRow{"Story", "SearchMore", "WasItThere NotThere | WasItThere | Search |"},
    StoryRow{"Story", "HighFruit",
             "SeeFruit TooHigh WantFruit TryFruit HeroSad / MeetPal HelpMe PalHelps FruitPlan / GetFruit "
             "ShareFruit EndWithPal"},
    StoryRow{"Story", "StuckAnimal",
             "WalkOut HearCry WhatIsIt StuckPal PalStuck / TryPull FetchKin PullAll PalFree / PalThanks "
             "HappyPair EndPair"},
    StoryRow{"Story", "Baking",
             "WantBake NoTool AskWorker WorkerNo / WorkerYes Bake Baked EatDish / EndKin"},
    StoryRow{"Story", "NightVisit",
             "Night NightNoise Afraid WhoIsThere TakeLight / WetPal PalCold WarmPal NotAfraid / EndPair"},
    StoryRow{"Story", "Quarrel",
             "BestFriend FindOne Mine NoMine / Broke BothSad Sorry SorryToo FixToy / HappyPair EndPair"},
    StoryRow{"Story", "Lesson",
             "WantSkill TrySkill GiveUp HeroSad / MeetPal HelpMe TeachSkill Practice / CanSkill EndWithPal"},
    StoryRow{"Story", "WayHome",
             "GoFar LoseWay HeroSad / MeetPal AskWhy AskWay PalHelps LeadHome / SeeHome HeroThanks EndKin"},
    StoryRow{"Story", "Seed",
             "FindSeed PutSeed WaterSeed AskSeed KinWait / Grown Grown2 EndKin"},
    StoryRow{"Story", "HeavyLoad",
             "MeetWorker HasLoad OfferCarry Carry / WorkerGift RunHome EndKin"},
    StoryRow{"Story", "EndWithPal", "HeroThanks HappyPair EndPair | HappyPair EndPair | HeroThanks EndPair"},
};

}  // namespace fount::data
